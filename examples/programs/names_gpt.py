"""A small GPT that learns to spell, letter by letter, and then makes up names of its own."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

NAMES = """
acanthus aconite agave alder allium almond aloe alyssum amaranth anemone angelica apple apricot
arnica artichoke arum ash aspen aster azalea balsam bamboo banana barley basil bay bean beech beet
begonia bellflower bilberry birch blackthorn bluebell borage bramble broom bryony buckwheat bugle
burdock buttercup cabbage cactus calendula camellia campion caper caraway cardamom carnation carrot
cedar celandine celery chamomile cherry chestnut chicory chive chrysanthemum clematis clover
columbine coriander cornflower cowslip crocus cucumber currant cyclamen cypress daffodil dahlia
daisy dandelion dill dock dogwood elder elm eucalyptus fennel fern fig fir flax foxglove freesia
fuchsia gardenia garlic gentian geranium ginger ginkgo gladiolus gorse grape hawthorn hazel heather
hellebore hemlock hemp henbane hibiscus holly hollyhock honeysuckle hop hornbeam hyacinth hydrangea
iris ivy jasmine juniper kale laburnum larch larkspur laurel lavender leek lemon lentil lettuce
lilac lily lime linden lobelia lotus lupin magnolia mallow maple marigold marjoram meadowsweet melon
mimosa mint mistletoe mulberry mullein mustard myrtle narcissus nasturtium nettle nightshade nutmeg
oak oat oleander olive onion orange orchid oregano palm pansy parsley parsnip pea peach pear peony
pepper periwinkle petunia pine plantain plum poplar poppy potato primrose privet pumpkin quince
radish ragwort raspberry rhubarb rice rose rosemary rowan rue rye saffron sage salvia savory
saxifrage sedge snapdragon snowdrop sorrel spinach spruce squash strawberry sunflower sycamore
tamarisk tansy tarragon teasel thistle thyme tomato tulip turnip valerian verbena vetch violet
walnut wheat willow wisteria woodruff wormwood yarrow yew
""".split()  # noqa: SIM905 - a column of words is easier to read
LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # the dot begins and ends a name


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, width=48, heads=4, layers=2, length=16):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(LETTERS), bias=False)
        self.head.weight = self.letters.weight

    def forward(self, tokens):
        x = self.letters(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def batch_of(names, length=16):
    rows = [[LETTERS.index(letter) for letter in f".{name}."] for name in names]
    tokens = torch.zeros(len(rows), length + 1, dtype=torch.long)
    targets = torch.full((len(rows), length + 1), -100)
    for row, letters in enumerate(rows):
        tokens[row, : len(letters)] = torch.tensor(letters)
        targets[row, : len(letters)] = torch.tensor(letters)
    return tokens[:, :length], targets[:, 1:]


@torch.no_grad()
def invent(model, count, generator):
    tokens = torch.zeros(count, 1, dtype=torch.long)
    for _ in range(15):
        chances = F.softmax(model(tokens)[:, -1], dim=-1)
        tokens = torch.cat([tokens, torch.multinomial(chances, 1, generator=generator)], dim=1)
    return ["".join(LETTERS[i] for i in row[1:]).split(".")[0] for row in tokens.tolist()]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args(arguments)

    torch.manual_seed(0)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(1, options.steps + 1):
        chosen = torch.randint(len(NAMES), (32,)).tolist()
        tokens, targets = batch_of([NAMES[i] for i in chosen])
        loss = F.cross_entropy(model(tokens).transpose(1, 2), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step:4}   loss {loss.item():.4f}")
    model.eval()
    print(" ".join(invent(model, 8, torch.Generator().manual_seed(1))))
    return losses


if __name__ == "__main__":
    main()

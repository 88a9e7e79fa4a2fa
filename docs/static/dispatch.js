// The page "How a call is dispatched": shows what explain() said of the combination that is chosen.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("dispatch");
  if (!place || !window.DISPATCH) return;
  const data = window.DISPATCH;
  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const choice = (label, options) => {
    const holder = element("label", label + " ");
    const select = element("select");
    for (const option of options) select.append(new Option(option, option));
    holder.append(select);
    select.addEventListener("change", show);
    place.append(holder);
    return select;
  };
  const operator = choice("operator", Object.keys(data.calls));
  const given = choice("arguments", data.arguments);
  const mode = choice("mode", data.modes);
  const shown = element("div");
  place.append(shown);

  const section = (title, ...content) => {
    shown.append(element("h3", title), ...content);
  };
  const keys = (names, crossed = []) => {
    const line = element("p", undefined, "keys");
    if (!names.length) line.append("none");
    for (const name of names) line.append(element("span", name, crossed.includes(name) ? "key gone" : "key"));
    return line;
  };

  function show() {
    const found = data.found[[operator.value, given.value, mode.value].join("|")];
    shown.replaceChildren();
    const call = data.calls[operator.value];
    section("The call", element("pre", mode.value === "no mode" ? call : `with dovetail.${mode.value}:\n    ${call}`),
            element("p", found.schema), element("p", "declared at " + found.defined_at));
    const rows = element("table");
    for (const argument of found.arguments) {
      const row = element("tr");
      row.append(element("td", argument.name), element("td", argument.value), element("td", argument.keys.join(", ")));
      rows.append(row);
    }
    section("Keys of the arguments", rows);
    section("Included by the state", keys(found.included));
    section("Masked", keys(found.merged, found.excluded), element("p", "What is crossed out is excluded by the state: " +
            (found.merged.filter((name) => found.excluded.includes(name)).join(", ") || "nothing") +
            ". Fallen through: " + (found.fallthrough.join(", ") || "nothing") + "."));
    section("What is left", keys(found.keys), element("p", found.chosen ? "The highest is " + found.chosen + "." : "No key has a kernel."));
    if (found.error) section("The call is refused", element("pre", found.error));
    const chain = element("ol");
    for (const step of found.chain) {
      const item = element("li");
      item.append(element("strong", `${step.key} [${step.rule}] `), element("code", step.kernel), element("br"),
                  `at ${step.source}`, element("br"), `registered at ${step.registered_at}` +
                  (step.distribution ? ` by ${step.distribution}` : ""), element("br"), step.note || "");
      chain.append(item);
    }
    section("Kernels, in the order in which they run", chain);
    section(found.records_graph ? "A graph is recorded" : "No graph is recorded");
    if (found.calls.length) {
      const list = element("ul");
      const add = (calls, into) => {
        for (const each of calls) {
          const item = element("li", each.call || each.operator || String(each));
          if (each.calls && each.calls.length) {
            const inner = element("ul");
            add(each.calls, inner);
            item.append(inner);
          }
          into.append(item);
        }
      };
      add(found.calls, list);
      section("It calls", list);
    }
    if (found.route) section("The route: what is compiled, and runs at the next call", element("pre", found.route));
  }
  show();
});

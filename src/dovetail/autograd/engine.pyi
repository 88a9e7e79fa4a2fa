from dovetail_autograd import Engine as Engine
from dovetail_autograd import ExecInfo as ExecInfo
from dovetail_autograd import GraphRoot as GraphRoot
from dovetail_autograd import GraphTask as GraphTask
from dovetail_autograd import InputBuffer as InputBuffer
from dovetail_autograd import NodeTask as NodeTask
from dovetail_autograd import ReadyQueue as ReadyQueue
from dovetail_autograd import current_graph_task as current_graph_task

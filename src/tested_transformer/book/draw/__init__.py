"""Every figure of the book. A drawing takes arrays and returns a picture; it computes nothing."""

try:
    import matplotlib as matplotlib
except ModuleNotFoundError:
    needed = "matplotlib: pip install 'tested-transformer[chapters]'"
    error = f"the figures need {needed}"
    raise ModuleNotFoundError(error, name="matplotlib") from None

from tested_transformer.book.draw import adam as adam
from tested_transformer.book.draw import addnorm as addnorm
from tested_transformer.book.draw import attention as attention
from tested_transformer.book.draw import backward as backward
from tested_transformer.book.draw import backward_layer as backward_layer
from tested_transformer.book.draw import backward_machine as backward_machine
from tested_transformer.book.draw import bert as bert
from tested_transformer.book.draw import bleu as bleu
from tested_transformer.book.draw import cache as cache
from tested_transformer.book.draw import decode as decode
from tested_transformer.book.draw import decoder as decoder
from tested_transformer.book.draw import derivatives as derivatives
from tested_transformer.book.draw import embedding as embedding
from tested_transformer.book.draw import encoder as encoder
from tested_transformer.book.draw import feedforward as feedforward
from tested_transformer.book.draw import film as film
from tested_transformer.book.draw import gpt as gpt
from tested_transformer.book.draw import heads as heads
from tested_transformer.book.draw import interactive as interactive
from tested_transformer.book.draw import live as live
from tested_transformer.book.draw import looking as looking
from tested_transformer.book.draw import loss as loss
from tested_transformer.book.draw import masks as masks
from tested_transformer.book.draw import notation as notation
from tested_transformer.book.draw import onefile as onefile
from tested_transformer.book.draw import paper as paper
from tested_transformer.book.draw import patches as patches
from tested_transformer.book.draw import positions as positions
from tested_transformer.book.draw import recurrence as recurrence
from tested_transformer.book.draw import scale as scale
from tested_transformer.book.draw import schedule as schedule
from tested_transformer.book.draw import sheet as sheet
from tested_transformer.book.draw import thread as thread
from tested_transformer.book.draw import tokens as tokens
from tested_transformer.book.draw import train as train
from tested_transformer.book.draw import transformer as transformer
from tested_transformer.book.draw import translation as translation
from tested_transformer.book.draw import trouble as trouble
from tested_transformer.book.draw import vectors as vectors

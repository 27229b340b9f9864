"""Every figure of the book. A drawing takes arrays and returns a picture; it computes nothing."""

from tested_transformer.draw import adam as adam
from tested_transformer.draw import attention as attention
from tested_transformer.draw import embedding as embedding
from tested_transformer.draw import loss as loss
from tested_transformer.draw import positions as positions
from tested_transformer.draw import schedule as schedule
from tested_transformer.draw import tokens as tokens

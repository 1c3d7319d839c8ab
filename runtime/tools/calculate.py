"""`calculate`: arithmetic on decimal numbers, read by a parser, bounded by its precision, never run as code."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, DecimalException, DivisionByZero, InvalidOperation, Overflow
from types import MappingProxyType

from runtime.errors import ToolError
from runtime.tools.definition import tool

LONGEST = 500
"""How many characters an expression may have."""
_DIGITS = 40
_CONTEXT = Context(prec=_DIGITS, Emax=400, Emin=-400, traps=[InvalidOperation, DivisionByZero, Overflow])
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "^": "**"})
_ARITHMETIC = re.compile(r"[0-9.eE_+*/%()\s-]+\Z", re.ASCII)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_OPERATIONS: Mapping[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = MappingProxyType(
    {
        ast.Add: _CONTEXT.add,
        ast.Sub: _CONTEXT.subtract,
        ast.Mult: _CONTEXT.multiply,
        ast.Div: _CONTEXT.divide,
        ast.Pow: _CONTEXT.power,
    }
)


@tool(inline=True)
def calculate(expression: str) -> int | float:
    """Work out an arithmetic expression with numbers, + - * / % // ** and parentheses.

    Args:
        expression: for example (12 + 30) * 1.5
    """
    if len(expression) > LONGEST:
        raise ToolError(f"an expression has at most {LONGEST} characters")
    text = _THOUSANDS.sub("", expression.translate(_SIGNS)).strip().rstrip("=?. ")
    if not _ARITHMETIC.match(text):
        raise ToolError(f"{expression!r} is not arithmetic")
    try:
        return _number(_value(ast.parse(text, mode="eval").body, text))
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        raise ToolError(f"{expression!r} is not arithmetic") from None
    except DivisionByZero:
        raise ToolError("that divides by zero") from None
    except Overflow:
        raise ToolError("the result is too large") from None
    except DecimalException:
        raise ToolError("that has no result among the numbers") from None


def _value(node: ast.expr, text: str) -> Decimal:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return _CONTEXT.create_decimal((ast.get_source_segment(text, node) or "").replace("_", ""))
        case ast.UnaryOp(op=ast.USub()):
            return _CONTEXT.minus(_value(node.operand, text))
        case ast.UnaryOp(op=ast.UAdd()):
            return _value(node.operand, text)
        case ast.BinOp():
            return _operation(node.op, _value(node.left, text), _value(node.right, text))
    raise ToolError(f"{ast.get_source_segment(text, node)!r} is not arithmetic")


def _operation(operator: ast.operator, left: Decimal, right: Decimal) -> Decimal:
    if isinstance(operator, ast.FloorDiv | ast.Mod):
        below = _CONTEXT.divide(left, right).to_integral_value(rounding="ROUND_FLOOR")
        return below if isinstance(operator, ast.FloorDiv) else _CONTEXT.subtract(left, _CONTEXT.multiply(below, right))
    if type(operator) not in _OPERATIONS:
        raise ToolError("only + - * / % // ** are known")
    return _OPERATIONS[type(operator)](left, right)


def _number(value: Decimal) -> int | float:
    """A whole number as one, as far as its digits are certain."""
    if value == value.to_integral_value() and value.adjusted() < _DIGITS:
        return int(value)
    return float(value)

"""A text cut into pieces as a modern vocabulary's pre-tokenizer cuts it, each piece priced by its shape and script.

The prices are averages measured against o200k, in tokens: a word is one token until it is long or in capitals,
other alphabets pay by the letter, ideographs nearly one token each, and what looks random (base64, keys) by the
character. Prices lean to the high side where a script varies, because too little is the dangerous mistake (F2).
"""

from __future__ import annotations

import re
from typing import Final

_REMEMBERED: Final = 50_000
_SHORT: Final = 40

_NARROW = re.compile(
    r"""[^\r\nA-Za-z0-9]?[A-Z]*[a-z]+(?:'(?:[stmd]|re|ve|ll)\b)?
      | [^\r\nA-Za-z0-9]?[A-Z]+
      | [0-9]{1,3}
      | [ ]?[^\sA-Za-z0-9]+[\r\n/]*
      | \s*[\r\n]+
      | \s+(?!\S)
      | \s+""",
    re.VERBOSE,
)
"""The cut of ASCII text."""

_LATIN = "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0300-\u036f\u1e00-\u1eff"
_ALPHABETS = "\u0370-\u052f\u0530-\u058f\u0590-\u07ff\u0900-\u1dff\ufb50-\ufdff\ufe70-\ufefe"
_EASTERN = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HANGUL = "\u1100-\u11ff\uac00-\ud7af"

_WIDE = re.compile(
    rf"""[^\r\n\w]?[A-Z]*[a-z]+(?![{_LATIN}])(?:['\u2019](?:[stmd]|re|ve|ll)\b)?
      | [^\r\n\w]?(?:[A-Z]+(?![{_LATIN}])|[A-Za-z{_LATIN}]+)
      | [^\r\n\w]?(?:[{_HANGUL}]+|[{_EASTERN}]+|[{_ALPHABETS}]+)
      | [^\r\n\W\d_]+
      | \d{{1,3}}
      | [ ]?(?:[^\s\w]|_)+[\r\n/]*
      | \s*[\r\n]+
      | \s+(?!\S)
      | \s+
      | .""",
    re.VERBOSE,
)
"""The cut of any other text: as above, with a run of each script as one piece."""

_BLOB = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{32,}={0,2}")
_RUN = re.compile(r"[A-Z]*[a-z]+|[A-Z]+|[0-9]{1,3}|[^A-Za-z0-9]+")


def price(text: str) -> float:
    """The estimated tokens of `text`, as a sum of prices. Linear in its length."""
    blobs = 0.0

    def taken(found: re.Match[str]) -> str:
        nonlocal blobs
        cost = _random(found[0])
        blobs += cost
        return "" if cost else found[0]

    rest = _BLOB.sub(taken, text)
    if rest.isascii():
        return blobs + sum(map(_PRICES.__getitem__, _NARROW.findall(rest)))
    return blobs + sum(map(_PRICES.__getitem__, _WIDE.findall(rest))) * _foreign(rest)


def _foreign(text: str) -> float:
    """By how much plain words cost more in a text that is in another Latin language than English: 1 to 1.2."""
    marked = max(0, len(_MARKED.findall(text)) - len(_VIETNAMESE.findall(text)))
    return 1.0 + min(0.2, 3 * marked / len(text))


_MARKED = re.compile("[\u00c0-\u024f]")
_VIETNAMESE = re.compile("[\u1ea0-\u1eff]")


def _random(blob: str) -> float:
    """What a long run of base64 or hex digits costs; 0 if it reads like words."""
    sample = blob[:4096]
    runs = len(_RUN.findall(sample))
    if runs * 3.6 < len(sample):
        return 0.0
    scale = len(blob) / len(sample)
    if sample.isdigit():
        return runs * scale
    return scale * (runs * 1.06 if _HEX.fullmatch(sample) else 0.68 * len(sample))


_HEX = re.compile(r"[0-9a-f-]+|[0-9A-F-]+")


class _Prices(dict[str, float]):
    """What each piece costs, remembered while it is short."""

    def __missing__(self, piece: str) -> float:
        cost = _ascii(piece) if piece.isascii() else _other(piece)
        if len(piece) <= _SHORT:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[piece] = cost
        return cost


_PRICES = _Prices()


def _ascii(piece: str) -> float:
    word = piece if piece[0].isalnum() else piece[1:]
    if word[:1].isalpha():
        return _word(word, piece[0] == " ", not piece[0].isalpha() and piece[0] != " ")
    if piece.isspace():
        per = 128 if piece.isprintable() else 4 if " " in piece and len(piece) > 64 else 16
        return 1.0 + len(piece) // per
    if piece[0].isdigit():
        return 1.0
    return _signs(piece.strip(" \r\n"))


def _word(word: str, blank: bool, sign: bool) -> float:
    length = len(word)
    if length > 24:
        return max(1.0, length * (0.25 if len(set(word[:400])) < 4 else 0.56))
    if length > 2 and word.isupper():
        return max(1.15, 0.29 * length) + 0.7 * sign
    if length > 13:
        return 0.13 * length + 0.4 * sign
    if word.islower() or "'" in word:
        long, short = (1.25, 1.02) if blank else (2.0, 1.2) if sign else (1.5, 1.1)
    else:
        long, short = (1.8, 1.1) if not sign else (2.5, 1.4)
    return long if length > 8 else short if length > 2 else 1.0


def _signs(signs: str) -> float:
    length = len(signs)
    if length <= 2:
        return 1.0
    if length > 4 and len(set(signs[:64])) == 1:
        return 1.0 + length / 32
    if '\\"' in signs:
        return max(1.0, 0.24 * length)
    return 0.75 + 0.15 * length if length < 5 else 0.42 * length


def _other(piece: str) -> float:
    first, length = piece[0], len(piece)
    if not first.isalnum() and length > 1 and piece[1].isalpha():
        return (0.0 if first == " " else 0.4 if first.isascii() else 0.8) + _letters(piece[1:])
    return _letters(piece) if first.isalpha() else _symbols(piece)


def _letters(word: str) -> float:
    length, last = len(word), word[-1]
    if "\u3005" <= last <= "\u9fff":
        return _ideographs(word)
    for low, high, start, each in _SCRIPTS:
        if low <= last <= high:
            return max(1.0, start + each * length)
    return 1.0 * length if last < "\U00010000" else 3.0 * length


def _ideographs(run: str) -> float:
    kana = len(_KANA.findall(run))
    if kana:
        return 0.4 + 0.64 * kana + 0.93 * (len(run) - kana)
    return max(1.0, 0.3 + 0.86 * len(run) - 0.66 * len(_COMMON.findall(run)))


_KANA = re.compile("[\u3040-\u30ff]")

_COMMON = re.compile(
    "可以|如果|没有|我们|他们|你们|自己|这个|那个|什么|怎么|因为|所以|但是|不过|而且|或者|以及|已经|正在|需要|应该|可能|必须"
    "|时候|时间|问题|方法|情况|结果|原因|使用|进行|通过|根据|关于|对于|目前|现在|今天|明天|昨天|之后|以后|之前|以前|其中|其他|所有"
    "|每个|一个|一些|很多|非常|比较|更加|最后|首先|然后|同时|另外|例如|工作|公司|客户|服务|产品|市场|管理|系统|数据|信息|文件|用户"
    "|程序|代码|功能|设置|配置|网络|软件|技术|开发|项目|测试|运行|返回|请求|接口|参数|函数|缓存|线程|连接|数据库|服务器|错误|检查"
    "|默认|支持|提供|处理|管理|操作|选择|输入|输出|显示|添加|删除|修改|更新|创建|查询|发送|接受|开始|结束|发生|出现|发现|知道|认为"
    "|觉得|希望|喜欢|中国|世界|国家|社会|经济|政府|学校|学生|老师|孩子|朋友|生活|地方|城市|北京|上海|电话|邮箱|短信|订单|您好|谢谢"
    "|方便|重要|简单|主要|相关|不同|完全|直接|继续|建议|注意|避免|确认|记录|标准|影响|发展|研究|分析|影响|能够|不能|不会|只要|只有"
)
"""Frequent words of two letters that are one token."""

_SCRIPTS: Final = (
    ("A", "\u036f", 0.5, 0.31),
    ("\u0370", "\u03ff", 0.1, 0.42),
    ("\u0400", "\u052f", 0.42, 0.226),
    ("\u0530", "\u05ff", 0.1, 0.46),
    ("\u0600", "\u08ff", 0.27, 0.31),
    ("\u0900", "\u0dff", 0.15, 0.33),
    ("\u0e00", "\u10ff", 0.3, 0.45),
    ("\u1e00", "\u1eff", 0.5, 0.31),
    ("\uac00", "\ud7af", 0.59, 0.55),
)


def _symbols(signs: str) -> float:
    return sum(map(_symbol, signs))


def _symbol(sign: str) -> float:
    if sign >= "\U0001f000":
        return 1.9
    return 0.5 if sign < "\x80" else 0.8 if sign in "\u200d\ufe0f" else 1.1

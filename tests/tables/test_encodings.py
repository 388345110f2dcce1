"""Files of many languages and character sets: read as what they are, or with a doubt."""

import random

import pytest

from covey import tables
from covey.errors import TableError
from covey.schema import TableFormat
from covey.tables.encodings import guessed
from invented_tables import FIRST, LAST, TOWNS

OTHERS = {  # names and towns
    "ru": ("Иванов Пётр,Смирнова Анна,Кузнецов Алексей,Попова Мария,Соколов Дмитрий",
           "Москва,Казань,Тверь,Воронеж"),
    "zh": ("王伟,李娜,张敏,刘洋,陈静,杨勇,赵磊", "北京,上海,广州,成都"),
    "ja": ("佐藤 健,鈴木 花子,高橋 翔,田中 さくら,伊藤 蓮", "東京都,大阪府,名古屋市,ふくおか"),
    "ko": ("김민수,이영희,박지훈,최수진,정다은", "서울,부산,대구,인천"),
    "el": ("Γιώργος Παπάς,Μαρία Νικολάου,Ελένη Αγγέλου", "Αθήνα,Πάτρα,Βόλος,Χανιά"),
    "cs": ("Jiří Dvořák,Tomáš Černý,Kateřina Procházková,Lukáš Říha", "Plzeň,Brno,Ústí,Děčín"),
    "tr": ("Ayşe Yılmaz,Çağla Öztürk,Işıl Şahin,Gökhan Güneş", "İstanbul,Muğla,Iğdır,Ankara"),
}  # fmt: skip
ENCODINGS = {
    **dict.fromkeys(("de", "fr", "it", "nl", "pt"), ("cp1252",)),
    "pl": ("cp1250", "iso8859_2"), "cs": ("cp1250", "iso8859_2"), "tr": ("cp1254",),
    "ru": ("cp1251", "koi8_r"), "zh": ("gb18030",), "ja": ("cp932",), "ko": ("euc_kr",),
    "el": ("cp1253",),
}  # fmt: skip


def table(language: str, rows: int) -> str:
    draw = random.Random(language)
    if language in OTHERS:
        names, towns = (listed.split(",") for listed in OTHERS[language])
    else:
        firsts, lasts = FIRST[language].split(), LAST[language].split()
        names = [f"{draw.choice(firsts)} {last}" for last in lasts]
        towns = TOWNS[language]
    lines = (
        f"{draw.choice(names)};{draw.randint(18, 90)};{draw.choice(towns)}\n" for _ in range(rows)
    )
    return "name;age;town\n" + "".join(lines)


@pytest.mark.parametrize("language", ENCODINGS)
def test_a_file_is_read_as_what_it_is(language: str) -> None:
    text = table(language, 40)
    for name in (*ENCODINGS[language], "utf-16-le", "utf-16-be", "utf-16"):
        found = guessed(text.encode(name))
        assert text.encode(name).decode(found.name) == text, name
        assert found.perhaps is None or language in ("zh", "ko"), name  # so few signs
        read = tables.from_bytes(text.encode(name), None, TableFormat())
        assert [tuple(read.frame.columns), *read.frame.rows()] == [
            tuple(line.split(";")) for line in text.splitlines()
        ]


@pytest.mark.parametrize("language", ENCODINGS)
def test_a_few_rows_are_read_right_or_with_a_doubt(language: str) -> None:
    for rows in (1, 2, 3, 5):
        text = table(language, rows)
        for name in ENCODINGS[language]:
            found = guessed(text.encode(name))
            assert found.perhaps or text.encode(name).decode(found.name) == text, (name, rows)


def test_a_doubt_is_said_with_what_was_taken() -> None:
    data = "name;age\nИван;3\n".encode("cp1251")
    table = tables.from_bytes(data, None, TableFormat(header=True))
    (note,) = table.notes
    assert table.dialect.encoding in note
    assert "perhaps" in note
    assert "--encoding" in note


def test_signs_that_belong_to_no_text_are_refused() -> None:
    with pytest.raises(TableError, match="--encoding"):
        guessed(bytes(range(128, 256)) * 20)

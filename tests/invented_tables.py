"""Invented tables of people in eight languages, each column with the roles that are right for it.

The letters are those of `truth_of_tables`; `I!` is a direct identifier, which must not be kept. The
tables are as messy as exports are: sentinels, typos, several spellings, notes among numbers.
"""

import datetime
import random
from collections.abc import Callable
from typing import NamedTuple

import polars as pl

ROWS = 400

FIRST = {
    "fr": "Jean Marie Pierre Sylvie Luc Amélie Hugo Zoé Gaël Maëlys Yannick Clotilde Loïc Solène",
    "it": "Giuseppe Chiara Luca Ornella Matteo Fiorella Davide Loredana Sandro Mirella Elio Gaia",
    "nl": "Sanne Daan Femke Bram Lotte Thijs Maud Joris Yara Kees Hilde Sjaak Roos Gijsbert",
    "pt": "João Maria Tiago Inês Rui Leonor Gonçalo Beatriz Nuno Luzia Xavier Odete Vasco Dulce",
    "pl": "Łukasz Agnieszka Zbigniew Małgorzata Wojciech Grażyna Stanisław Bożena Kacper Oliwia",
    "de": "Jürgen Käthe Heinz Waltraud Sören Björn Änne Kevin Chantal Torben Friederike Götz Uta",
}
LAST = {
    "fr": "Lefèvre Dubois Moreau Gauthier Chevalier Boucher Renard Marchand Picard Colin Rey",
    "it": "Rossi Ferrari Esposito Bianchi Zanetti Pellegrini Sartori Fabbri Grasso Donati Bellini",
    "nl": "Jansen Bakker Visser Hoekstra Postma Kuipers Veenstra Prins Blom Huisman Schouten",
    "pt": "Silva Ferreira Oliveira Carvalho Tavares Pinheiro Barbosa Matos Figueiredo Leite Branco",
    "pl": "Nowak Kowalska Wiśniewski Zając Sikora Baran Wrona Pawlak Duda Szewczyk Kubiak Lis Bąk",
    "de": "Müller Schäfer Weiß Größl Böttcher Kühn Öztürk Hübner Krämer Jäger Lindemann Voß Ebert",
}
TOWNS = {
    "fr": ["Lyon", "Villeurbanne", "Bron", "Givors", "Oullins", "Écully", "Tarare", "Brignais"],
    "it": ["Bologna", "Imola", "Casalecchio", "Medicina", "Budrio", "Zola Predosa", "Vergato"],
    "nl": ["Utrecht", "Zeist", "Amersfoort", "Houten", "Soest", "Woerden", "Veenendaal", "Bunnik"],
    "pt": ["Coimbra", "Figueira da Foz", "Cantanhede", "Lousã", "Montemor-o-Velho", "Penacova"],
    "pl": ["Łódź", "Zgierz", "Pabianice", "Ozorków", "Głowno", "Koluszki", "Tuszyn", "Brzeziny"],
    "de": ["München", "Dachau", "Freising", "Erding", "Starnberg", "Fürstenfeldbruck", "Grünwald"],
}
ICD = ["I10.0", "E11.9", "J45.0", "M54.5", "F32.1", "C50.9", "K21.0", "N18.3", "I25.1", "G40.9"]

Cell = str | None
Column = tuple[str, Callable[[random.Random, int], Cell]]  # the right roles, and a cell of a row


class Invented(NamedTuple):
    """A table, and the letters of the right roles of each column."""

    frame: pl.DataFrame
    truth: dict[str, str]

    @property
    def direct(self) -> set[str]:
        return {name for name, letters in self.truth.items() if letters.endswith("!")}


# ── cells ───────────────────────────────────────────────────────────────────────────────────────


def one_of(*cells: Cell) -> Callable[[random.Random, int], Cell]:
    return lambda draw, _: draw.choice(cells)


def words(text: str) -> Callable[[random.Random, int], Cell]:
    return one_of(*text.split())


def numbers(low: float, high: float, digits: int = 0, *odd: str, sign: str = "."
            ) -> Callable[[random.Random, int], Cell]:  # fmt: skip
    """Numbers, and now and then something odd."""

    def cell(draw: random.Random, _: int) -> Cell:
        if odd and draw.random() < 0.04:
            return draw.choice(odd)
        middle = draw.triangular(low, high)
        return (f"{middle:.{digits}f}" if digits else str(round(middle))).replace(".", sign)

    return cell


def dates(first: int, last: int, form: str, *odd: str) -> Callable[[random.Random, int], Cell]:
    start = datetime.datetime(first, 1, 1)
    minutes = (datetime.datetime(last, 12, 31) - start) // datetime.timedelta(minutes=1)

    def cell(draw: random.Random, _: int) -> Cell:
        if odd and draw.random() < 0.04:
            return draw.choice(odd)
        return (start + datetime.timedelta(minutes=draw.randrange(minutes))).strftime(form)

    return cell


def coded(form: str, step: int = 7919, start: int = 10_000) -> Callable[[random.Random, int], Cell]:
    return lambda _, row: form.format(start + row * step % 89_989)


def digits(form: str) -> Callable[[random.Random, int], Cell]:
    """Each 9 becomes a digit and each A a letter."""

    def cell(draw: random.Random, _: int) -> Cell:
        signs = {"9": "0123456789", "A": "ABCDEFGHJKLMNPRSTUVWXYZ"}
        return "".join(draw.choice(signs[sign]) if sign in signs else sign for sign in form)

    return cell


def names(language: str, form: str) -> Callable[[random.Random, int], Cell]:
    first, last = FIRST[language].split(), LAST[language].split()

    def cell(draw: random.Random, _: int) -> Cell:
        return form.format(first=draw.choice(first), last=draw.choice(last))

    return cell


def sentences(*parts: str) -> Callable[[random.Random, int], Cell]:
    def cell(draw: random.Random, row: int) -> Cell:
        return f"{' '.join(draw.choice(parts) for _ in range(3))} {row % 97}"

    return cell


def streets(*names_: str, form: str = "{name} {number}") -> Callable[[random.Random, int], Cell]:
    return lambda draw, _: form.format(name=draw.choice(names_), number=draw.randrange(1, 180))


# ── tables ──────────────────────────────────────────────────────────────────────────────────────

TABLES: dict[str, dict[str, Column]] = {
    "hôpital": {
        "IPP": ("I!", coded("80{:06}")),
        "Nom": ("I!", names("fr", "{last}")),
        "Prénom": ("I!", names("fr", "{first}")),
        "Date de naissance": ("Q", dates(1930, 2010, "%d/%m/%Y", "01/01/1900")),
        "Sexe": ("Q", words("F M H Femme Homme F F M")),
        "Code postal": ("Q", one_of("69001", "69100", "69500", "01000", "38200", "42000", "69003")),
        "Commune": ("Q", one_of(*TOWNS["fr"])),
        "N° téléphone": ("I!", digits("06 99 99 99 99")),
        "Situation familiale": ("Q", one_of("marié", "célibataire", "divorcé", "veuf", None)),
        "Profession": ("Q", one_of("enseignant", "infirmier", "retraité", "sans emploi", "cadre")),
        "Date d'admission": ("Q", dates(2022, 2023, "%d/%m/%Y %H:%M")),
        "Service": ("Q", one_of("Cardiologie", "Urgences", "Pédiatrie", "cardiologie")),
        "Diagnostic principal": ("S", one_of(*ICD)),
        "Tension systolique": ("S", numbers(90, 190, 0, "999")),
        "Glycémie": ("S", numbers(3, 15, 1, "<0,5", sign=",")),
        "Durée de séjour": ("QS", numbers(1, 30)),
        "Commentaire": ("I", sentences("Patient vu par le médecin", "suivi à prévoir rapidement")),
    },
    "ospedale": {
        "codice_fiscale": ("I!", digits("AAAAAA99A99A999A")),
        "cognome": ("I!", names("it", "{last}")),
        "nome": ("I!", names("it", "{first}")),
        "data_nascita": ("Q", dates(1930, 2010, "%Y-%m-%d", "9999-12-31")),
        "sesso": ("Q", words("M F maschio femmina M F")),
        "comune_residenza": ("Q", one_of(*TOWNS["it"])),
        "cap": ("Q", one_of("40121", "40026", "40033", "40059", "40054")),
        "indirizzo": ("I!", streets("Via Emilia", "Viale Aldini", "Piazza Trento", "Via Zamboni")),
        "stato_civile": ("Q", one_of("celibe", "coniugato", "vedovo", "Coniugato", None)),
        "titolo_di_studio": ("Q", one_of("licenza media", "diploma", "laurea", "sconosciuto")),
        "reparto": ("Q", one_of("Medicina", "Chirurgia", "Ortopedia", "Neurologia")),
        "diagnosi": ("S", one_of(*ICD)),
        "esito": ("S", one_of("guarito", "migliorato", "deceduto", "trasferito")),
        "peso_kg": ("QS", numbers(45, 120, 1)),
        "reddito": ("S", numbers(8000, 80000)),
        "email": ("I!", lambda d, r: f"{d.choice(LAST['it'].split()).lower()}{r}@posta.example"),
    },
    "ziekenhuis": {
        "BSN": ("I!", digits("999999999")),
        "patiëntnummer": ("I!", coded("P{:06}")),
        "achternaam": ("I!", names("nl", "{last}")),
        "voorletters": ("I!", digits("A.A.")),
        "geboortedatum": ("Q", dates(1930, 2010, "%d-%m-%Y")),
        "geslacht": ("Q", words("m v m v M V man vrouw")),
        "postcode": ("Q", digits("35A9 AA".replace("A9", "99", 1))),
        "woonplaats": ("Q", one_of(*TOWNS["nl"])),
        "nationaliteit": ("Q", one_of("Nederlands", "Duits", "Turks", "onbekend", "Pools")),
        "opleiding": ("Q", one_of("mbo", "hbo", "wo", "vmbo", None)),
        "beroep": ("Q", one_of("leraar", "verpleegkundige", "bakker", "gepensioneerd")),
        "opnamedatum": ("Q", dates(2021, 2022, "%d-%m-%Y")),
        "diagnosecode": ("S", one_of(*ICD)),
        "medicatie": ("S", one_of("A10BA02", "C09AA05", "N02BE01", "R03AC02", "B01AC06")),
        "bloeddruk_sys": ("S", numbers(95, 185)),
        "rookt": ("S", one_of("ja", "nee", "ja", "onbekend")),
        "tevredenheid": ("S", numbers(1, 5)),
    },
    "hospital pt": {
        "Nº Utente": ("I!", digits("299999999")),
        "Nome completo": ("I!", names("pt", "{first} {last}")),
        "Data de nascimento": ("Q", dates(1930, 2010, "%d/%m/%Y")),
        "Idade": ("Q", numbers(0, 95, 0, "999")),
        "Género": ("Q", words("Masculino Feminino M F Feminino Masculino")),
        "Código Postal": ("Q", digits("3099-999")),
        "Concelho": ("Q", one_of(*TOWNS["pt"])),
        "Telemóvel": ("I!", digits("+351 919 999 999")),
        "Estado civil": ("Q", one_of("Solteiro", "Casado", "Viúvo", "Divorciado", "casado")),
        "Habilitações": ("Q", one_of("4.º ano", "9.º ano", "12.º ano", "Licenciatura")),
        "Data de internamento": ("Q", dates(2022, 2022, "%Y-%m-%d %H:%M:%S")),
        "Diagnóstico": ("S", one_of(*ICD)),
        "Rendimento mensal": ("S", numbers(600, 4000)),
        "Colesterol": ("S", numbers(110, 320, 0, "n.d.")),
        "Óbito": ("S", one_of("Sim", "Não", "Não", "Não")),
        "Observações": ("I", sentences("Doente referiu dores fortes", "marcar consulta em breve")),
    },
    "szpital": {
        "PESEL": ("I!", digits("99999999999")),
        "Imię": ("I!", names("pl", "{first}")),
        "Nazwisko": ("I!", names("pl", "{last}")),
        "Data urodzenia": ("Q", dates(1930, 2010, "%d.%m.%Y")),
        "Płeć": ("Q", words("K M kobieta mężczyzna K M")),
        "Kod pocztowy": ("Q", digits("99-999".replace("99-", "95-"))),
        "Miejscowość": ("Q", one_of(*TOWNS["pl"])),
        "Adres": ("I!", streets("ul. Piotrkowska", "ul. Zgierska", "al. Kościuszki")),
        "Stan cywilny": ("Q", one_of("wolny", "żonaty", "wdowiec", "rozwiedziony")),
        "Wykształcenie": ("Q", one_of("podstawowe", "średnie", "wyższe", "brak danych")),
        "Zawód": ("Q", one_of("nauczyciel", "kierowca", "emeryt", "pielęgniarka")),
        "Data przyjęcia": ("Q", dates(2021, 2023, "%d.%m.%Y")),
        "Oddział": ("Q", one_of("Kardiologia", "Chirurgia", "Neurologia")),
        "Rozpoznanie": ("S", one_of(*ICD)),
        "Leki": ("S", one_of("A10BA02", "C09AA05", "N02BE01", "R03AC02", "B01AC06")),
        "Ciśnienie": ("S", numbers(90, 190, 0, "-1")),
        "Zarobki": ("S", numbers(3000, 15000)),
    },
    "Krankenhaus": {
        "Fallnummer": ("I!", coded("{:08}")),
        "Name": ("I!", names("de", "{last}, {first}")),
        "Geburtsdatum": ("Q", dates(1930, 2010, "%d.%m.%Y", "01.01.1900")),
        "Geschlecht": ("Q", words("m w M W männlich weiblich m w")),
        "PLZ": ("Q", one_of("80331", "85221", "85354", "85435", "82319", "1067")),
        "Wohnort": ("Q", one_of(*TOWNS["de"], "münchen")),
        "Straße": ("I!", streets("Hauptstraße", "Bahnhofstr.", "Am Anger", "Münchner Straße")),
        "Telefon": ("I!", digits("089/9999999")),
        "Versichertennr": ("I!", digits("A999999999")),
        "Familienstand": ("Q", one_of("ledig", "verheiratet", "geschieden", "verwitwet", "k.A.")),
        "Aufnahmedatum": ("Q", dates(2022, 2023, "%d.%m.%Y %H:%M")),
        "Entlassdatum": ("Q", dates(2022, 2023, "%d.%m.%Y", "31.12.9999")),
        "Hauptdiagnose": ("S", one_of(*ICD)),
        "Station": ("Q", one_of("01", "02", "03", "11", "12")),
        "Größe": ("QS", numbers(150, 198)),
        "Gewicht": ("QS", numbers(45, 120, 1, sign=",")),
        "CRP": ("S", numbers(1, 99, 1, "<0,1", "<0,6", sign=",")),
        "Anamnese": ("I", sentences("Der Patient klagt über Husten", "Kontrolle in einer Woche")),
        "einweisender Arzt": ("I", names("de", "Dr. {first} {last}")),
        "Kosten": ("S", numbers(500, 20000, 2, sign=",")),
    },
    "police": {
        "Case Number": ("I!", digits("AB999999")),
        "Incident Date": ("Q", dates(2020, 2021, "%m/%d/%Y")),
        "Victim Age": ("Q", numbers(0, 90)),
        "Victim Sex": ("Q", words("M F X")),
        "Victim Descent": ("Q", words("H W B")),
        "Suspect Name": ("I!", names("de", "{last}, {first}")),
        "Weapon Used": ("QS", one_of("Knife", "Gun", None)),
        "Crime Code": ("S", words("510 624 330")),
        "Block Address": ("I!", streets("N MAIN ST", "W 5TH AVE", form="{number} {name}")),
        "Latitude": ("I!", numbers(34, 34.3, 4)),
        "Longitude": ("I!", numbers(118, 118.4, 4)),
        "Officer Badge": ("I!", digits("99999")),
    },
    "staff": {
        "Emp No": ("I!", coded("{:05}")),
        "Full Name": ("I!", names("nl", "{first} {last}")),
        "Start Date": ("Q", dates(2000, 2022, "%d-%b-%Y")),
        "Grade": ("QS", words("A B C")),
        "Salary Band": ("S", words("20-30k 30-40k")),
        "Line Manager": ("I", names("pt", "{first} {last}")),
        "NI Number": ("I!", digits("AB999999C")),
        "Bank Account No": ("I!", digits("99999999")),
        "Sickness Days": ("S", numbers(0, 60)),
        "Disability": ("S", words("Y N")),
        "Work Email": ("I!", lambda _, row: f"w{row}@firm.example"),
        "Desk Location": ("Q", words("London Leeds")),
    },
    "Umfrage": {
        "lfdn": ("I", lambda _, row: str(row + 17)),
        "bula": ("Q", words("Bayern Hessen")),
        "gebjahr": ("Q", numbers(1940, 2005, 0, "-99", "-77")),
        "sex": ("Q", words("1 2 -99")),
        "isced": ("Q", words("2 3 5 6")),
        "hhgr": ("Q", numbers(1, 6)),
        "hheink": ("S", numbers(500, 9000, 0, "-99")),
        "partei": ("QS", words("1 2 4 5 99")),
        "gesund": ("S", words("1 2 3 4 5")),
        "relig": ("S", words("1 2 6")),
        "gewicht": ("QSN", numbers(0, 3, 6)),
        "plz2": ("Q", words("80 60 10 01")),
    },
    "SIVEP": {
        "NU_NOTIFIC": ("I!", lambda _, row: str(316_000_000_000 + row * 7771)),
        "DT_NOTIFIC": ("Q", dates(2021, 2021, "%d/%m/%Y")),
        "SG_UF_NOT": ("Q", words("SP RJ MG")),
        "CO_MUN_NOT": ("Q", words("355030 350950 330330")),
        "CS_SEXO": ("Q", words("M F I")),
        "DT_NASC": ("Q", dates(1930, 2015, "%d/%m/%Y")),
        "CS_GESTANT": ("S", words("5 6 9")),
        "CS_RACA": ("Q", words("1 2 4 9")),
        "FEBRE": ("S", words("1 2 9")),
        "EVOLUCAO": ("S", words("1 2 3")),
        "NM_PACIENT": ("I!", names("pt", "{first} {last}")),
        "NU_CPF": ("I!", digits("99999999999")),
    },
}  # fmt: skip


def invented(name: str, rows: int = ROWS) -> Invented:
    """One of the tables; the same each time."""
    columns = TABLES[name]
    draw = random.Random(name)
    cells = {
        title: [cell(draw, row) for row in range(rows)] for title, (_, cell) in columns.items()
    }
    frame = pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String))
    return Invented(frame, {title: letters for title, (letters, _) in columns.items()})


def as_csv(table: Invented, encoding: str = "cp1252", delimiter: str = ";") -> bytes:
    """The table as an export of an older system."""
    return table.frame.write_csv(separator=delimiter, null_value="").encode(encoding)

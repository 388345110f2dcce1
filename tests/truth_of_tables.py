"""The roles of the columns of some tables, judged by hand.

Each letter is a defensible role: I(dentifier), Q(uasi), S(ensitive) and N (insensitive). A column
under `DIRECT` names a person and must never be kept.
"""

ROLE_OF = {"I": "identifier", "Q": "quasi", "S": "sensitive", "N": "insensitive"}

# ── public tables, one file each ─────────────────────────────────────────────────────────────────

PUBLIC: dict[str, dict[str, list[str]]] = {
    "synthea_patients.csv": {
        "I": [
            *("Id", "SSN", "DRIVERS", "PASSPORT", "FIRST", "LAST", "MAIDEN", "ADDRESS"),
            *("LAT", "LON"),
        ],
        "IQ": ["PREFIX", "SUFFIX"],
        "Q": [
            *("BIRTHDATE", "MARITAL", "RACE", "ETHNICITY", "GENDER", "BIRTHPLACE", "CITY"),
            *("COUNTY", "ZIP"),
        ],
        "QS": ["DEATHDATE"],
        "S": ["HEALTHCARE_EXPENSES", "HEALTHCARE_COVERAGE"],
        "N": ["STATE"],
    },
    "titanic.csv": {
        "I": ["PassengerId", "Name"],
        "IQ": ["Ticket", "Cabin"],
        "Q": ["Pclass", "Sex", "Age", "SibSp", "Parch", "Embarked"],
        "QS": ["Survived", "Fare"],
    },
    "student-por.csv": {
        "Q": [
            *("school", "sex", "age", "address", "famsize", "Pstatus", "Medu", "Fedu", "Mjob"),
            *("Fjob", "guardian", "traveltime"),
        ],
        "QS": [
            *("reason", "studytime", "failures", "schoolsup", "famsup", "paid", "activities"),
            *("nursery", "higher", "internet", "romantic", "famrel", "freetime", "goout"),
            *("absences", "G1", "G2", "G3", "Dalc", "Walc"),
        ],
        "S": ["health"],
    },
    "WA_Fn-UseC_-HR-Employee-Attrition.csv": {
        "I": ["EmployeeNumber"],
        "Q": [
            *("Age", "BusinessTravel", "Department", "DistanceFromHome", "Education"),
            *("EducationField", "Gender", "JobLevel", "JobRole", "MaritalStatus"),
            *("NumCompaniesWorked", "TotalWorkingYears", "YearsAtCompany", "YearsInCurrentRole"),
            *("YearsSinceLastPromotion", "YearsWithCurrManager"),
        ],
        "QS": [
            *("Attrition", "OverTime", "StockOptionLevel", "TrainingTimesLastYear"),
            *("JobInvolvement", "WorkLifeBalance"),
        ],
        "S": [
            *("DailyRate", "EnvironmentSatisfaction", "HourlyRate", "JobSatisfaction"),
            *("MonthlyIncome", "MonthlyRate", "PercentSalaryHike", "PerformanceRating"),
            "RelationshipSatisfaction",
        ],
        "N": ["EmployeeCount", "Over18", "StandardHours"],
    },
    "kredit.asc": {
        "Q": [
            "beszeit",
            "famges",
            "wohnzeit",
            "alter",
            "wohn",
            "beruf",
            "pers",
            "telef",
            "gastarb",
        ],
        "QS": [
            *("kredit", "laufkont", "laufzeit", "verw", "hoehe", "sparkont", "rate", "buerge"),
            *("verm", "weitkred", "bishkred"),
        ],
        "S": ["moral"],
    },
    "btw21_kandidaturen.csv": {
        "I": ["Nachname", "Vornamen", "Künstlername"],
        "IQ": ["Titel", "Namenszusatz"],
        "Q": [
            *("Geschlecht", "Geburtsjahr", "PLZ", "Wohnort", "WohnortLandAbk", "Geburtsort"),
            *("Beruf", "Berufsschluessel", "Gebietsnummer", "Gebietsname", "GebietLandAbk"),
            *("Listenplatz", "VerknGebietsnummer", "VerknGebietsname", "VerknGebietLandAbk"),
            "VerknListenplatz",
        ],
        "QN": ["Kennzeichen", "Gebietsart", "VerknKennzeichen", "VerknGebietsart"],
        "QS": ["Gruppenname", "GruppennameLang", "VerknGruppenname", "VorpGewaehlt"],
        "N": ["Wahlart", "Wahltag", "Staat", "Staatsangehörigkeit"],
    },
    "AccidentesBicicletas_2021.csv": {
        "I": ["num_expediente"],
        "IQ": ["localizacion", "numero", "coordenada_x_utm", "coordenada_y_utm"],
        "Q": [
            *("fecha", "hora", "cod_distrito", "distrito", "tipo_vehículo", "tipo_persona"),
            *("rango_edad", "sexo"),
        ],
        "QS": ["tipo_accidente"],
        "QN": ["estado_meteorológico"],
        "S": ["cod_lesividad", "tipo_lesividad", "positiva_alcohol"],
        "NS": ["positiva_droga"],
    },
    "Casos_positivos_de_COVID-19_en_Colombia.csv": {
        "I": ["ID de caso"],
        "Q": [
            *("Fecha de notificación", "Código DIVIPOLA", "Ciudad de ubicación"),
            *("Departamento o Distrito ", "Edad", "Sexo", "País de procedencia", "FIS"),
            *("Fecha diagnostico", "Codigo departamento", "Codigo pais", "Pertenencia etnica"),
            "Nombre grupo etnico",
        ],
        "QS": [
            *("atención", "Tipo", "Estado", "Fecha de muerte", "Fecha recuperado"),
            "Tipo recuperación",
        ],
        "QN": ["fecha reporte web"],
    },
    "nhanes_2015_2016.csv": {
        "I": ["SEQN"],
        "Q": [
            *("RIAGENDR", "RIDAGEYR", "RIDRETH1", "DMDCITZN", "DMDEDUC2", "DMDMARTL"),
            "DMDHHSIZ",
        ],
        "QS": [
            *("ALQ101", "ALQ110", "ALQ130", "SMQ020", "INDFMPIR", "BPXSY1", "BPXDI1", "BPXSY2"),
            *("BPXDI2", "BMXWT", "BMXHT", "BMXBMI", "BMXLEG", "BMXARML", "BMXARMC", "BMXWAIST"),
            "HIQ210",
        ],
        "QN": ["SDMVPSU", "SDMVSTRA"],
        "QSN": ["WTINT2YR"],
    },
}

# Direct identifiers: released, each would name people.
DIRECT: dict[str, set[str]] = {
    "synthea_patients.csv": {
        *("Id", "SSN", "DRIVERS", "PASSPORT", "FIRST", "LAST", "MAIDEN", "ADDRESS", "LAT", "LON"),
    },
    "titanic.csv": {"PassengerId", "Name"},
    "WA_Fn-UseC_-HR-Employee-Attrition.csv": {"EmployeeNumber"},
    "btw21_kandidaturen.csv": {"Nachname", "Vornamen", "Künstlername"},
    "AccidentesBicicletas_2021.csv": {"num_expediente"},
    "Casos_positivos_de_COVID-19_en_Colombia.csv": {"ID de caso"},
    "nhanes_2015_2016.csv": {"SEQN"},
}

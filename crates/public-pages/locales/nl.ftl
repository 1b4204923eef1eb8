public-status-title = Storingen en onderhoud
public-status-feed = Status van { $hub }
public-status-no-problem = U kunt met elk account inloggen.
public-status-problems = Actuele storingen
public-status-planned-title = Geplande onderbrekingen
public-status-down = werkt niet
public-status-degraded = werkt weer, kort geleden waren er storingen
public-status-blocked = tijdelijk stopgezet
public-status-planned = geplande onderbreking
public-status-begins = Begin:
public-status-ends = Einde:
public-status-from = Vanaf { $time }.
public-status-until = Tot { $time }.
public-status-time = Bijgewerkt op
public-accessibility-title = Toegankelijkheidsverklaring
public-accessibility-scope = Deze verklaring gaat over de inlogpagina’s van { $hub }, die iedereen moet kunnen gebruiken (richtlijn (EU) 2016/2102).
public-accessibility-conformity = Nalevingsstatus
public-accessibility-full = De pagina’s voldoen aan EN 301 549 en WCAG 2.1, niveau AA.
public-accessibility-partial = De pagina’s voldoen gedeeltelijk aan EN 301 549 en WCAG 2.1, niveau AA: de uitzonderingen staan hieronder.
public-accessibility-none = De pagina’s voldoen niet aan EN 301 549 en WCAG 2.1, niveau AA: de redenen staan hieronder.
public-accessibility-defects = Niet-toegankelijke inhoud
public-accessibility-preparation = Over deze verklaring
public-accessibility-prepared = De verklaring is opgesteld op { $date }.
public-accessibility-self = Ze is gebaseerd op een zelfbeoordeling door de beheerder.
public-accessibility-external = Ze is gebaseerd op een beoordeling door een andere organisatie.
public-accessibility-feedback = Een probleem melden
public-accessibility-contact = Laat het ons weten als iets voor u niet toegankelijk is, of als u het in een andere vorm nodig hebt:
public-accessibility-enforcement = Als u niet tevreden bent met ons antwoord
public-accessibility-body = U kunt zich wenden tot deze instantie:
public-privacy-title = Privacyverklaring
public-privacy-scope = Deze verklaring gaat over de gegevens die { $hub } verwerkt als u inlogt bij een dienst.
public-privacy-controller = Wie verantwoordelijk is
public-privacy-officer = Functionaris voor gegevensbescherming:
public-privacy-purpose-title = Waarvoor de gegevens worden gebruikt
public-privacy-purpose = De dienst die u hebt gekozen, komt te weten wie u bent en kan daarop vertrouwen.
public-privacy-basis = Wettelijke grondslag:
public-privacy-data-title = Welke gegevens het zijn en waar ze vandaan komen
public-privacy-data = Het account dat u kiest, geeft aan wie u bent, hoe u hebt ingelogd en hoe betrouwbaar dat is. Een dienst krijgt alleen de gegevens waar die om mag vragen.
public-privacy-register = Een personenregister bevestigt die of vult die aan.
public-privacy-recipients = Wie de gegevens ontvangt
public-privacy-service = de dienst waarbij u inlogt
public-privacy-periods = Hoelang de gegevens worden bewaard
public-privacy-login = Gegevens van een inlogpoging die niet is afgerond: maximaal { $period }.
public-privacy-session = Gegevens van uw sessie: tot u uitlogt, zonder gebruik { $idle }, in totaal maximaal { $period }.
public-privacy-refresh = Gegevens voor een dienst die ze opnieuw mag opvragen als u er niet bij bent: maximaal { $period }, of tot u dit intrekt.
public-privacy-recent = Tijdstippen, diensten en fouten van recente inlogpogingen, zonder uw naam, voor de helpdesk: maximaal { $period }.
public-privacy-audit = Auditlogboek met pseudoniemen, diensten en tijdstippen: { $period }.
public-privacy-audit-unlimited = Auditlogboek met pseudoniemen, diensten en tijdstippen: zonder vaste termijn.
public-privacy-choice = Een cookie met het laatst gekozen account: { $period }.
public-privacy-rights-title = Uw rechten
public-privacy-rights = U kunt uw gegevens inzien, laten corrigeren of laten verwijderen, het gebruik ervan laten beperken en daar bezwaar tegen maken.
public-privacy-complaint = U kunt een klacht indienen bij:
public-status-available-count =
    { $count ->
        [one] { $count } account werkt.
       *[other] { $count } accounts werken.
    }
public-days =
    { $count ->
        [one] { $count } dag
       *[other] { $count } dagen
    }
public-hours =
    { $count ->
        [one] { $count } uur
       *[other] { $count } uur
    }
public-minutes =
    { $count ->
        [one] { $count } minuut
       *[other] { $count } minuten
    }

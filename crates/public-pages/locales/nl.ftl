public-status-title = Status van de dienst
public-status-feed = Status van { $hub }
public-status-no-problem = U kunt met elk account inloggen.
public-status-problems = Problemen nu
public-status-planned-title = Geplande onderbrekingen
public-status-down = werkt niet
public-status-degraded = werkt weer, na storingen van kort geleden
public-status-blocked = geblokkeerd
public-status-planned = geplande onderbreking
public-status-begins = Begin:
public-status-ends = Einde:
public-status-from = Vanaf { $time }.
public-status-until = Tot { $time }.
public-status-time = Stand van
public-accessibility-title = Toegankelijkheidsverklaring
public-accessibility-scope = Deze verklaring gaat over de inlogpagina’s van { $hub }, die iedereen moet kunnen gebruiken (Richtlijn (EU) 2016/2102).
public-accessibility-conformity = Conformiteit
public-accessibility-full = De pagina’s voldoen aan EN 301 549 en WCAG 2.1, niveau AA.
public-accessibility-partial = De pagina’s voldoen gedeeltelijk aan EN 301 549 en WCAG 2.1, niveau AA: de uitzonderingen volgen.
public-accessibility-none = De pagina’s voldoen niet aan EN 301 549 en WCAG 2.1, niveau AA: de redenen volgen.
public-accessibility-defects = Wat niet toegankelijk is
public-accessibility-preparation = Deze verklaring
public-accessibility-prepared = Ze is opgesteld op { $date }.
public-accessibility-self = Ze berust op een beoordeling door de beheerder.
public-accessibility-external = Ze berust op een beoordeling door een andere organisatie.
public-accessibility-feedback = Een probleem melden
public-accessibility-contact = Schrijf ons als iets u tegenhoudt, of als u het in een andere vorm nodig hebt:
public-accessibility-enforcement = Als ons antwoord niet voldoet
public-accessibility-body = U kunt zich wenden tot deze instantie:
public-privacy-title = Privacyverklaring
public-privacy-scope = Deze verklaring gaat over de gegevens die { $hub } verwerkt als u inlogt bij een dienst.
public-privacy-controller = Wie verantwoordelijk is
public-privacy-officer = Functionaris voor gegevensbescherming:
public-privacy-purpose-title = Waarvoor de gegevens dienen
public-privacy-purpose = De dienst die u hebt gekozen, verneemt wie u bent en kan daarop vertrouwen.
public-privacy-basis = Rechtsgrond:
public-privacy-data-title = Welke gegevens, en waarvandaan
public-privacy-data = Het account dat u kiest, zegt wie u bent, hoe u hebt ingelogd en hoe betrouwbaar dat is. Een dienst krijgt alleen wat hij mag vragen.
public-privacy-register = Een personenregister bevestigt ze of vult ze aan.
public-privacy-recipients = Wie ze ontvangt
public-privacy-service = de dienst waarbij u inlogt
public-privacy-periods = Hoe lang ze worden bewaard
public-privacy-login = Gegevens van een login die niet is afgerond: hoogstens { $period }.
public-privacy-session = Gegevens van uw sessie: tot u uitlogt, zonder gebruik { $idle }, hoogstens { $period }.
public-privacy-refresh = Gegevens voor een dienst die zonder u mag terugkomen: hoogstens { $period }, of tot u dit intrekt.
public-privacy-recent = Tijden, diensten en fouten van recente logins, zonder uw naam, voor hulp: hoogstens { $period }.
public-privacy-audit = Auditlogboek met pseudoniemen, diensten en tijden: { $period }.
public-privacy-audit-unlimited = Auditlogboek met pseudoniemen, diensten en tijden: zonder vaste termijn.
public-privacy-choice = Een cookie met het laatst gekozen account: { $period }.
public-privacy-rights-title = Uw rechten
public-privacy-rights = U kunt uw gegevens inzien, laten verbeteren of wissen, het gebruik laten beperken en er bezwaar tegen maken.
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

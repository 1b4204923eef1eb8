mail-code-subject = Uw inlogcode
mail-code-lead = U logt in bij { $service }. Typ deze code op de pagina die erom vraagt:
mail-code-valid = De code is { $minutes } minuten geldig, alleen op die pagina.
mail-code-warning = Geef deze code aan niemand. Als u niet aan het inloggen bent, negeer dan deze mail en wijzig uw wachtwoord bij uw identiteitsaanbieder: iemand anders kent het.
mail-test-subject = Testmail
mail-test = Dit is een testmail van { $hub }. U hoeft niets te doen.
mail-address-kept = Uw bevestigde e-mailadres, versleuteld: { $period } na het laatste gebruik.

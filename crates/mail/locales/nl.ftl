mail-code-subject = Uw inlogcode
mail-code-lead = U logt in bij { $service }. Vul deze code in op de pagina die erom vraagt:
mail-code-valid = { $minutes ->
    [one] De code is één minuut geldig, en alleen op die pagina.
   *[other] De code is { $minutes } minuten geldig, en alleen op die pagina.
}
mail-code-warning = Deel deze code met niemand. Bent u niet aan het inloggen? Negeer dan deze e-mail en wijzig uw wachtwoord bij de organisatie die uw account beheert: iemand anders kent het.
mail-test-subject = Testmail
mail-test = Dit is een testmail van { $hub }. U hoeft niets te doen.
mail-address-kept = Uw bevestigde e-mailadres, versleuteld: tot { $period } na het laatste gebruik.

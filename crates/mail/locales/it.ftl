mail-code-subject = Il suo codice di accesso
mail-code-lead = Sta accedendo a «{ $service }». Inserisca questo codice nella pagina che lo richiede:
mail-code-valid = { $minutes ->
    [one] Il codice è valido per un minuto, solo in quella pagina.
   *[other] Il codice è valido per { $minutes } minuti, solo in quella pagina.
}
mail-code-warning = Non comunichi mai questo codice a nessuno. Se non sta accedendo, ignori questa e-mail e cambi la password presso il gestore del suo account: un’altra persona la conosce.
mail-test-subject = E-mail di prova
mail-test = Questa è un’e-mail di prova di «{ $hub }». Non deve fare nulla.
mail-address-kept = Il suo indirizzo e-mail confermato, cifrato: { $period } dopo l’ultimo utilizzo.

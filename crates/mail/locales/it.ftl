mail-code-subject = Il suo codice di accesso
mail-code-lead = Sta accedendo a { $service }. Scriva questo codice nella pagina che lo richiede:
mail-code-valid = Il codice è valido per { $minutes } minuti, solo in quella pagina.
mail-code-warning = Non dia questo codice a nessuno. Se non sta accedendo, ignori questa e-mail e cambi la password presso il suo gestore d’identità: un’altra persona la conosce.
mail-test-subject = E-mail di prova
mail-test = Questa è un’e-mail di prova di { $hub }. Non è necessario fare nulla.
mail-address-kept = Il Suo indirizzo e-mail confermato, cifrato: { $period } dopo l’ultimo utilizzo.

mail-code-subject = O seu código de autenticação
mail-code-lead = Está a autenticar-se em { $service }. Introduza este código na página que o pede:
mail-code-valid = { $minutes ->
    [one] O código é válido durante um minuto e apenas nessa página.
   *[other] O código é válido durante { $minutes } minutos e apenas nessa página.
}
mail-code-warning = Não dê este código a ninguém. Se não está a autenticar-se, ignore este e-mail e altere a sua palavra-passe junto da entidade que gere a sua conta: outra pessoa conhece-a.
mail-test-subject = E-mail de teste
mail-test = Este é um e-mail de teste de { $hub }. Não precisa de fazer nada.
mail-address-kept = O seu endereço de e-mail confirmado, cifrado: { $period } após a última utilização.

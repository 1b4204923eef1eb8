mail-code-subject = O seu código de acesso
mail-code-lead = Está a iniciar sessão em { $service }. Escreva este código na página que o pede:
mail-code-valid = O código é válido durante { $minutes } minutos, apenas nessa página.
mail-code-warning = Não dê este código a ninguém. Se não está a iniciar sessão, ignore esta mensagem e mude a sua palavra-passe no seu fornecedor de identidade: outra pessoa conhece-a.
mail-test-subject = Mensagem de teste
mail-test = Esta é uma mensagem de teste de { $hub }. Não é preciso fazer nada.
mail-address-kept = O seu endereço de e-mail confirmado, cifrado: { $period } após a última utilização.

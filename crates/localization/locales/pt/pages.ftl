### What a person reads. Short sentences, no protocol words.
### One word for one thing: "serviço" (who asks), "conta" (what you sign in with),
### "entidade" (who runs the account), "autenticação" (the sign-in), "sessão" (what lasts after it).

footer-label = Ligações úteis
language-name = Português
language-label = Idioma
language-go = Mudar de idioma

## Dates

month-1 = janeiro
month-2 = fevereiro
month-3 = março
month-4 = abril
month-5 = maio
month-6 = junho
month-7 = julho
month-8 = agosto
month-9 = setembro
month-10 = outubro
month-11 = novembro
month-12 = dezembro
date-day = { $day } de { $month } de { $year }
date-month = { $month } de { $year } (dia desconhecido)
date-year = { $year } (dia e mês desconhecidos)
date-time = { $date }, às { $time } (UTC)

## Choice of the account

choice-title = Escolha uma conta
choice-title-service = Autenticar-se em «{ $service }»
choice-lead = Escolha a conta que pretende utilizar.
site-line = «{ $hub }» permite-lhe autenticar-se em serviços com uma conta que já tem.
choice-asks = «{ $service }» pede-lhe que se autentique.
level-eidas1 = A sua conta habitual é suficiente.
level-eidas2 = Este serviço pede uma autenticação reforçada: duas provas, por exemplo uma palavra-passe e o seu telemóvel.
level-eidas3 = Este serviço pede a autenticação mais segura, por exemplo com um cartão de identidade eletrónico.
choice-accounts = Contas disponíveis
choice-banner = A autenticação com «{ $provider }» não foi concluída.
choice-stopped = A autenticação com «{ $provider }» foi interrompida.
choice-stopped-next = Nada foi enviado ao serviço. Escolha novamente esta conta ou outra.
choice-less-safe = A autenticação com «{ $provider }» não foi suficientemente segura para este serviço.
choice-less-safe-next = Nada foi enviado ao serviço. Escolha outra conta, ou novamente esta com um método de autenticação mais seguro, se existir.
choice-not-me = Indicou que não era a pessoa apresentada. Nada foi enviado ao serviço.
choice-not-me-next = «{ $provider }» pode ainda recordar a outra pessoa: se o nome voltar a aparecer, termine a sessão em «{ $provider }» e depois regresse.
choice-search = Procurar uma conta pelo nome
choice-search-go = Procurar
choice-found-none = Nenhuma conta disponível corresponde a «{ $query }».
choice-show-all = Ver todas as contas
choice-total = Estão disponíveis { $total } contas. Procure a sua pelo nome.
choice-range = Contas { $first } a { $last } de { $total }
choice-found = { $total ->
    [one] { $total } conta encontrada
   *[other] { $total } contas encontradas
}
choice-email = Endereço de e-mail
choice-email-use = Só a parte depois do @ é usada, para saber onde se pode autenticar. O endereço não fica guardado.
choice-email-go = Continuar
choice-email-list = Escolher antes na lista
choice-email-again = Indicar antes um endereço de e-mail
choice-email-malformed = Introduza um endereço de e-mail completo, por exemplo nome@example.org.
choice-email-found = Contas para endereços de «{ $domain }»:
choice-email-unknown = Não há nenhuma conta registada para endereços de «{ $domain }». Escolha uma na lista.
choice-last-used = Última conta usada
choice-forget = Não memorizar esta conta
choice-others = Outras contas
choice-see-category = { $category }: ver as { $total } contas
choice-letters = Contas por letra inicial
choice-pages = Páginas da lista
choice-previous = Contas anteriores
choice-next = Contas seguintes
choice-none = De momento, não há nenhuma conta disponível.
choice-no-account = Não tenho nenhuma destas contas
choice-unavailable = Indisponíveis de momento
choice-recent-trouble = Teve um problema há instantes
choice-unavailable-more = { $total ->
    [one] E mais { $total }: procure o nome dessa conta para saber porquê.
   *[other] E mais { $total }: procure o nome de uma conta para saber porquê.
}
choice-cancel = Cancelar e voltar a «{ $service }»
why-too-low = Autenticação pouco segura para este serviço
why-no-reauthentication = Não consegue pedir-lhe uma nova autenticação, embora este serviço o exija
why-not-for-service = Não pode ser usada neste serviço
why-in-trouble = Não funciona neste momento
why-off = Encerrada neste momento
why-blocked = Suspensa neste momento

## Typing a password, for an account whose organisation has no page of its own

sign-in-title = Autenticação com «{ $provider }»
sign-in-username = Nome de utilizador
sign-in-password = Palavra-passe
sign-in-show = Mostrar a palavra-passe
sign-in-hide = Ocultar a palavra-passe
sign-in-forgotten = Esqueci-me da palavra-passe
sign-in-whose = Introduza a palavra-passe que usa em «{ $provider }», e nenhuma outra. É lá que é verificada; aqui não fica guardada.
sign-in-go = Autenticar
sign-in-other = Escolher outra conta
sign-in-empty = Introduza o seu nome de utilizador e a sua palavra-passe.
sign-in-wrong = Nome de utilizador ou palavra-passe incorretos, ou a conta está bloqueada por algum tempo.
sign-in-last = Resta-lhe uma tentativa. Se também estiver errada, terá de aguardar antes da seguinte.
sign-in-wait = { $minutes ->
    [one] Houve demasiadas tentativas erradas. Aguarde um minuto e tente novamente.
   *[other] Houve demasiadas tentativas erradas. Aguarde { $minutes } minutos e tente novamente.
}
sign-in-new-password = Definir uma nova palavra-passe
password-title = A sua palavra-passe
password-must-change = A sua palavra-passe foi aceite, mas tem de a alterar.
password-sign-ins-left = A sua palavra-passe expirou. Altere-a agora. Autenticações ainda possíveis com ela: { $count }.
password-expires = A sua palavra-passe expira em breve. Altere-a a tempo. Dias restantes: { $days }.
password-where = Pode alterá-la em «{ $provider }».

## A code by mail

mail-page-title = Introduza o código que lhe enviámos por e-mail
mail-page-sent = Enviámos um código para { $address }. É válido durante dez minutos.
mail-page-why = «{ $service }» pede este código, além da sua palavra-passe.
mail-page-code = Código de seis dígitos
mail-page-go = Continuar
mail-page-wrong = O código está errado. Tentativas restantes: { $count }.
mail-page-expired = Este código já não é válido. Peça outro.
mail-page-missing = Não recebeu nada ao fim de um minuto? Verifique também o correio não solicitado (spam) ou peça outro código.
mail-page-resend = Enviar outro código
mail-page-reload = Poderá pedir outro código dentro de um minuto: volte a carregar a página
mail-page-unreadable = Não tenho acesso a esta caixa de correio

## What is sent

inform-title = As suas informações para este serviço
inform-lead = «{ $service }» vai receber:
inform-why = «{ $service }» pede estas informações para saber quem é. Nada é enviado antes de continuar.
inform-go = Continuar para «{ $service }»
inform-cancel = Não continuar
consent-title = Aceita enviar estas informações?
consent-lead = «{ $service }» pede para receber:
consent-yes = Sim, aceito
consent-no = Não, recuso
consent-person = Está a autenticar-se como
consent-not-me = Não sou eu
consent-pseudonym = «{ $service }» não vai receber o seu nome nem qualquer outra informação. Recebe apenas um número criado para este serviço, para saber da próxima vez que é a mesma pessoa.
consent-source-register = Estas informações vêm do registo nacional e da sua conta «{ $provider }».
consent-source-provider = Estas informações vêm da sua conta «{ $provider }».
consent-account = Autenticou-se com a sua conta «{ $provider }».
consent-offline = «{ $service }» poderá também voltar a recebê-las mais tarde, na sua ausência.
value-none = não indicado
value-code = código { $code }
country-99100 = França
claim-given-names = Nomes próprios
claim-family-name = Apelido de nascimento
claim-birthdate = Data de nascimento
claim-gender = Sexo
claim-birthplace = Local de nascimento
claim-birthcountry = País de nascimento
claim-preferred-username = Nome atual
claim-email = Endereço de e-mail
claim-name = Nome completo
claim-middle-name = Nome do meio
claim-nickname = Alcunha
claim-profile = Página de perfil
claim-picture = Fotografia
claim-website = Sítio Web
claim-zoneinfo = Fuso horário
claim-locale = Idioma
claim-updated-at = Última alteração do perfil
claim-email-verified = Endereço de e-mail verificado
claim-phone-number = Número de telefone
claim-phone-number-verified = Número de telefone verificado
claim-address = Morada
value-yes = Sim
value-no = Não
gender-female = feminino
gender-male = masculino
gender-unspecified = não especificado

## Errors: what happened

error-bad-request = O pedido do serviço não está correto.
error-not-found = Esta página não existe.
error-method = Esta página não pode ser usada desta forma.
error-timeout = O pedido demorou demasiado tempo a chegar.
error-too-large = O pedido é demasiado grande.
error-unknown-host = Este endereço não é o correto.
error-internal = Ocorreu um erro do nosso lado.
error-unavailable = O nosso serviço está indisponível por breves instantes.
error-busy = Há demasiadas pessoas a autenticar-se neste momento.
error-network-limited = Houve demasiados pedidos de autenticação a partir da sua rede num só minuto.
error-service-limited = O serviço fez demasiados pedidos de autenticação num só minuto.
error-register = O registo nacional não conseguiu confirmar a sua identidade.
error-register-unavailable = O registo nacional não responde.
error-identity-incomplete = Falta na sua conta uma informação necessária.
error-identity-malformed = Não é possível ler uma informação da sua conta.
error-idp-unavailable = Não é possível usar esta conta.
error-idp-trouble = A entidade que gere esta conta está com um problema técnico.
error-hub-clock = O relógio deste sítio de autenticação está errado, por isso não é possível autenticar-se neste momento. O responsável pelo sítio tem de o corrigir.
error-idp-busy = Há demasiadas pessoas a usar esta conta neste momento.
error-idp-denied = A autenticação foi interrompida antes do fim.
error-password-change = A sua palavra-passe está correta, mas tem de a alterar antes de se poder autenticar aqui.
error-account-disabled = A sua palavra-passe está correta, mas esta conta está encerrada ou expirou. Contacte a entidade que gere esta conta.
error-account-hours = A sua palavra-passe está correta, mas esta conta não pode ser usada a esta hora. Tente mais tarde ou contacte a entidade que gere esta conta.
error-account-not-permitted = A sua palavra-passe está correta, mas esta conta não tem permissão para se autenticar aqui. Contacte a entidade que gere esta conta.
error-account-refused = A sua palavra-passe não foi verificada, porque esta conta não pode ser utilizada: pode estar bloqueada ou encerrada. Contacte a entidade que gere esta conta.
error-assurance = A autenticação não é suficientemente segura para este serviço.
error-login-unknown = Esta autenticação não existe ou já não existe.
error-login-other-browser = Esta autenticação começou noutro navegador, ou este navegador perdeu os cookies.
error-idp-answer = Não é possível usar a resposta da entidade que gere esta conta.
error-login-order = Continuou noutro separador.
error-login-done = Esta autenticação já está concluída.
error-login-expired = Esta autenticação demorou demasiado tempo.
error-login-too-many = Esta autenticação foi encerrada: havia demasiadas em curso.
error-repeated-cookie = O seu navegador enviou duas vezes o mesmo cookie deste sítio. Por segurança, nada foi feito.
error-idp-blocked = A autenticação com esta conta está suspensa neste momento.
error-idp-blocked-for-service = A autenticação neste serviço com esta conta está suspensa neste momento.
error-idp-reauthentication = Este serviço exige que se autentique de novo, e esta conta não consegue comprovar que o fez.
error-redirect-withdrawn = O serviço mudou de endereço durante a sua autenticação. Nada lhe foi enviado.
error-scope-withdrawn = O serviço já não pode receber estas informações.
error-gate = Esta conta não pode ser usada neste serviço.
error-login-interrupted = A autenticação foi interrompida.
error-cancelled = Cancelou a autenticação.
error-refused = Recusou enviar as suas informações.
error-login-required = Tem de se autenticar para continuar.
error-consent-required = É necessário o seu acordo para continuar.
error-mail-address = Esta autenticação exige um código por e-mail, e a sua conta não tem endereço de e-mail.
error-mail-address-unusable = Esta autenticação exige um código por e-mail, e não é possível enviar mensagens para o endereço da sua conta.
error-mail-unreadable = Para se autenticar com esta conta, precisa do código que lhe enviamos por e-mail.
error-mail-code-wrong = Foram introduzidos demasiados códigos errados.
error-mail-limited = Foram enviados ou introduzidos demasiados códigos para esta conta. Tente mais tarde.
error-mail-unavailable = De momento, não podemos enviar-lhe um código por e-mail.
error-csrf = Por segurança, este formulário não foi aceite.

## Errors: who can fix it, and what to do next

responsible-user = Nada se perdeu: pode recomeçar.
responsible-user-other = Pode autenticar-se com outra conta ou voltar ao serviço.
responsible-register = Os dados da sua conta podem ser diferentes dos do registo, por exemplo os nomes ou a data de nascimento. Peça à entidade que gere a sua conta que os verifique, ou utilize outra conta.
register-correction = Se o erro estiver no próprio registo, é corrigido aqui:
responsible-identity = Peça à entidade que gere a sua conta que a complete ou corrija, ou utilize outra conta.
responsible-mailbox = Se esta caixa de correio já não for sua, peça ajuda: o endereço antigo pode ser removido.
responsible-cookies = Permita os cookies deste sítio. Depois, volte ao sítio do serviço e autentique-se novamente, sem mudar de navegador.
responsible-repeated-cookie = Abra uma janela privada do seu navegador, vá ao sítio do serviço e autentique-se aí. Para voltar a usar uma janela normal, apague os cookies deste sítio nas definições do navegador.
responsible-newer-tab = Continue no separador ou na janela que abriu por último. Pode fechar esta página.
responsible-connection = A sua ligação à internet pode estar lenta. Verifique-a e tente novamente.
responsible-user-continue = Nada se perdeu: pode continuar.
responsible-other-tab = O que fez aqui pertence a uma etapa anterior. Nada se perdeu: continue aqui ou no outro separador.
responsible-finished = Concluiu-a aqui ou noutro separador. Pode fechar esta página. Para se autenticar de novo, recomece a partir do serviço.
retry-later = Nada se perdeu. Tente novamente daqui a alguns minutos.
retry-wait = { $seconds ->
    [one] Nada se perdeu. Poderá tentar novamente dentro de { $seconds } segundo.
   *[other] Nada se perdeu. Poderá tentar novamente dentro de { $seconds } segundos.
}
retry-auto = Esta página tentará depois novamente sozinha.
retry-auto-later = Esta página também tenta sozinha algumas vezes.
retry-stop = Não tentar automaticamente
responsible-service = Só o serviço de onde vem pode corrigir este problema. Indique-lhe as referências que estão ao fundo da página.
responsible-provider = Cabe à entidade que gere a sua conta corrigir este problema. Indique-lhe as referências que estão ao fundo da página. Outra conta pode funcionar.
responsible-answer = A culpa não é do serviço: a entidade que gere a conta enviou uma resposta errada ou a resposta a uma tentativa anterior. Pode prosseguir a sua autenticação; outra conta pode funcionar.
responsible-answer-alone = A culpa não é do serviço: a entidade que gere a conta enviou uma resposta errada, e não há nenhuma autenticação em curso neste navegador. Pode fechar esta página e voltar ao sítio do serviço.
responsible-operator = Cabe-nos corrigir este problema. Tente novamente daqui a alguns minutos.
error-no-way = Pode fechar esta página e voltar ao sítio do serviço.
support-link = Pedir ajuda
error-claim = Informação em causa: { $claim }.
error-service = Serviço: «{ $service }»
error-account = Conta: «{ $provider }»
action-again = Tentar novamente
action-continue = Continuar a autenticação
action-other = Escolher outra conta
action-service = Voltar a «{ $service }»
action-service-unnamed = Voltar ao serviço
action-home = Recomeçar a partir de «{ $service }»
action-home-unnamed = Recomeçar a partir do serviço
action-sign-out = Terminar sessão aqui
refs-title = Dados para o apoio ao utilizador
refs-code = Código
refs-precise = Segundo código
refs-support = Referência
refs-time = Data
refs-developer = Para a equipa técnica do serviço

## Return to the service, signed out

return-title = Regresso ao serviço
return-lead = Vai voltar a «{ $service }». Se nada acontecer, use o botão.
return-go = Continuar
log-out-title = Pretende terminar a sessão?
log-out-requested = «{ $service }» pede-lhe que termine a sessão.
log-out-account = Tem aqui uma sessão iniciada com a sua conta «{ $provider }». Depois de a terminar, cada serviço vai pedir-lhe que se autentique de novo.
log-out-no-session = Parece não haver aqui nenhuma sessão iniciada neste navegador. Para ter a certeza, pode terminar a sessão mesmo assim.
log-out-go = Terminar sessão
log-out-stay = Manter a sessão e voltar a «{ $service }»
log-out-close = Para manter a sessão, basta fechar esta página.
landing-title = Uma autenticação para muitos serviços
landing-go = Não é nesta página que se autentica. Vá ao sítio do serviço que pretende utilizar e escolha aí autenticar-se: será trazido de volta aqui.
landing-shared = Utilizou um dispositivo partilhado? Termine aqui a sessão antes de o deixar.
logged-out-title = Sessão terminada
logged-out-lead = A sua sessão aqui chegou ao fim.
logged-out-provider = Também terminou a sessão na sua conta «{ $provider }».
logged-out-services = Os serviços que utilizou podem ainda manter a sua sessão aberta. Termine-a também em cada um deles:
logged-out-unreached = Não foi possível informar «{ $provider }». Por segurança, termine também a sessão nessa conta ou feche o navegador.
logged-out-start = Ir para a página inicial

## Sandbox

sandbox-ribbon = Ambiente de testes: nada aqui é real
sandbox-title = Quem quer ser?
sandbox-lead = «{ $provider }» é uma conta de teste. Escolha uma pessoa e o que deve acontecer.
sandbox-person = Pessoa
sandbox-level = Segurança da autenticação
sandbox-level-too-low = Inferior ao pedido: será recusada
sandbox-methods = Meios usados
sandbox-failure = O que deve acontecer?
sandbox-go = Autenticar

## Demonstration service

demo-title = Experimentar uma autenticação
demo-lead = Este serviço fictício mostra uma autenticação completa e, depois, tudo o que recebeu. Nenhum dado é real.
demo-step-1 = Escolhe uma conta de teste.
demo-step-2 = Escolhe quem quer ser.
demo-step-3 = Vê o que o serviço recebe.
demo-standard = Plataforma normal
demo-standard-lead = A identidade vem do registo nacional. Os tokens são assinados.
demo-high = Plataforma elevada
demo-high-lead = A identidade vem do fornecedor da conta. Os tokens são assinados e depois cifrados: só este serviço os pode ler.
demo-sign-in-eidas1 = Autenticar: nível reduzido (eidas1)
demo-sign-in-eidas2 = Autenticar: nível substancial (eidas2)
demo-sign-in-eidas3 = Autenticar: nível elevado (eidas3)
demo-in-title = A autenticação foi concluída
demo-in-lead = Aqui está tudo o que o serviço recebeu, depois de verificado.
demo-claims = Informações recebidas
demo-in-encrypted = Os dois tokens chegaram cifrados; a chave privada do serviço decifrou-os.
demo-id-token = Token de identidade
demo-jwe-header = Cabeçalho da cifra (JWE)
demo-header = Cabeçalho da assinatura (JWS)
demo-payload = Conteúdo
demo-userinfo = Informações da pessoa (userinfo)
demo-data = O que um fornecedor de dados fica a saber
demo-data-lead = O serviço chamou-o com o token de acesso, e o fornecedor perguntou ao hub de quem é esse token.
demo-token-answer = Resposta do ponto de acesso aos tokens
demo-sign-out = Terminar sessão
demo-sign-in-again = Autenticar de novo
demo-error-title = A autenticação falhou
demo-error-lead = O serviço recebeu esta resposta em vez de uma autenticação.
demo-wallet-title = Carteira de demonstração
demo-wallet-lead = Os documentos desta carteira são fictícios. «{ $hub }» pede:
demo-wallet-agree = Aceitar e enviar
demo-wallet-decline = Recusar
demo-error-code = Erro
demo-error-description = Descrição
demo-refused-lead = O serviço recebeu uma resposta em que não pode confiar, ou nenhuma. Não usou nada dela.
demo-refused-reason = Motivo
sandbox-level-eidas1 = Reduzido (eidas1)
sandbox-level-eidas2 = Substancial (eidas2)
sandbox-level-eidas3 = Elevado (eidas3)
sandbox-failure-none = Tudo corre bem
sandbox-failure-cancel = A pessoa desiste
sandbox-failure-error = O fornecedor da conta tem uma avaria
sandbox-failure-missing-claim = A identidade chega sem data de nascimento
sandbox-failure-unknown-person = O registo não conhece esta pessoa
sandbox-failure-level-too-low = A autenticação é menos segura do que o pedido
demo-sign-in-consent = Autenticar e dar consentimento (eidas1)
demo-methods = Como a pessoa se autenticou
demo-method-mark = Marca do hub
demo-out-title = Sessão terminada
demo-out-lead = O que terminou, tanto quanto um serviço pode saber:
demo-out-service = Este serviço: a sua sessão terminou.
demo-out-hub = O hub: a sua sessão terminou. Enviou o navegador de volta com o «state» deste fim de sessão.
demo-out-hub-unknown = O hub: não se sabe. Não enviou o navegador de volta.
demo-out-provider = O fornecedor da conta: o hub envia para lá o navegador para terminar a sessão, onde isso é possível. O serviço não recebe confirmação.
demo-out-provider-unknown = O fornecedor da conta: não se sabe.
demo-next = A ver a seguir:
demo-next-start = autentique-se. Na escolha da conta, uma está bloqueada e outra não responde: veja o que é mostrado à pessoa. Mais informações em { $page }
demo-next-in = a consola do operador conta esta autenticação e não mostra nenhum nome. Para se autenticar a partir de uma aplicação sua, consulte { $page }
demo-next-out = autentique-se de novo: volta a escolher a conta e a pessoa, porque não resta nenhuma sessão. Mais informações em { $page }
demo-next-error = se uma página mostrou uma referência, procure-a na consola do operador. Todos os códigos de erro estão em { $page }
demo-console-standard = Consola do operador, normal
demo-console-high = Consola do operador, elevada
sandbox-next = em «O que deve acontecer?», escolha uma falha e veja o que recebem a pessoa e o serviço. Mais informações em { $page }
method-pwd = Palavra-passe
method-pin = PIN
method-kba = Perguntas pessoais
method-otp = Código de utilização única
method-sms = SMS
method-tel = Chamada telefónica
method-hwk = Chave física
method-swk = Chave de software
method-sc = Cartão inteligente
method-pop = Prova de uma chave
method-face = Rosto
method-fpt = Impressão digital
method-iris = Íris
method-retina = Retina
method-vbm = Voz
method-mail = Correio eletrónico
method-geo = Localização
method-mca = Vários canais
method-rba = Avaliação do risco
method-user = Presença da pessoa
method-wia = Autenticação do Windows
method-mfa = Vários fatores

# What the operator has to say to everybody
notice-warning = Importante:
notice-more = Saber mais

## The pages about an OAuth error, for developers

oauth-error-title = O erro { $error }
oauth-error-lead = Esta página destina-se a quem desenvolve ou gere um serviço. O hub respondeu com este erro a um pedido do servidor do serviço. Se queria apenas autenticar-se, volte ao serviço.
oauth-error-causes = Causas possíveis e o que fazer
oauth-error-precise = Esta página é a mesma para cada uma destas causas, para não revelar nenhum serviço; error_description pode dizer mais. O operador do hub pode encontrar a causa exata no registo de eventos, com a hora e o seu client_id.
oauth-error-documentation = Documentação para os serviços
oauth-error-invalid-request =
    Falta um parâmetro, está vazio ou foi enviado duas vezes: error_description indica qual. Envie-o uma só vez.
    O corpo não é um formulário: envie-o como application/x-www-form-urlencoded.
    O cliente autentica-se de duas formas, por exemplo no cabeçalho e no corpo: use apenas a que está registada.
oauth-error-invalid-client =
    O cliente autentica-se por um método diferente do registado. Muitas bibliotecas enviam o segredo no cabeçalho; por omissão, o hub espera client_secret_post, no corpo.
    O segredo está errado, expirou ou ainda não é válido. Compare-o, sem espaços à volta, e peça um novo ao operador, se necessário.
    O client_id é desconhecido aqui ou está desativado: cada plataforma e cada ambiente tem o seu.
    Uma asserção assinada não é aceite: verifique a chave, o aud (o emissor), o exp e se o jti é novo.
oauth-error-invalid-grant =
    O código é demasiado antigo ou já foi usado: troque-o uma só vez, assim que chegar.
    O redirect_uri é diferente do que consta no pedido de autorização.
    O code_verifier pertence a outra autenticação: guarde-o na sessão do navegador que iniciou a autenticação.
    O código foi emitido para outro cliente, ou o utilizador terminou entretanto a sessão.
oauth-error-unsupported-grant-type =
    O grant_type tem de ser authorization_code, ou refresh_token se o serviço estiver registado para tokens de renovação. Sem eles, inicie uma nova autenticação: com prompt=none, não mostra nenhuma página enquanto a sessão durar.
oauth-error-temporarily-unavailable =
    O hub está sobrecarregado ou não consegue obter as chaves no seu jwks_uri: tente novamente dentro de instantes, ou depois do prazo Retry-After, se a resposta o incluir.
    Houve demasiadas autenticações falhadas com o seu client_id: corrija as credenciais e depois aguarde.
oauth-error-server-error =
    O hub teve um erro interno: indique ao operador a hora e o seu client_id.

## Diagnostics of a sandbox hub, for developers

diagnostics-title = O que faz o hub com este pedido?
diagnostics-lead = Cole o endereço para o qual o seu serviço envia o navegador. O hub explica cada parâmetro e não inicia nenhuma autenticação.
diagnostics-result = Resultado
diagnostics-parameters = Parâmetro a parâmetro
diagnostics-url = Endereço do pedido de autorização
diagnostics-help = De https:// até ao último parâmetro. O endereço não fica guardado nem volta a ser mostrado.
diagnostics-go = Explicar
token-diagnostic-title = Porque falhou o pedido de tokens
token-diagnostic-lead = Esta página pode ser aberta durante dez minutos. Só um ambiente de testes indica a causa exata; em produção, o seu serviço vê apenas o erro.
token-diagnostic-fix = O que fazer

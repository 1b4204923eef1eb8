public-status-title = حالة الخدمة
public-status-feed = حالة { $hub }
public-status-no-problem = يمكنك تسجيل الدخول بكل الحسابات.
public-status-problems = المشكلات الحالية
public-status-planned-title = انقطاعات مخططة
public-status-down = لا يعمل
public-status-degraded = يعمل من جديد بعد أعطال قريبة
public-status-blocked = محظور
public-status-planned = انقطاع مخطط
public-status-begins = يبدأ:
public-status-ends = ينتهي:
public-status-from = من { $time }.
public-status-until = حتى { $time }.
public-status-time = الحالة في
public-accessibility-title = بيان إمكانية الوصول
public-accessibility-scope = يخص هذا البيان صفحات تسجيل الدخول في { $hub }، التي ينبغي أن يستطيع الجميع استخدامها (التوجيه (EU) 2016/2102).
public-accessibility-conformity = المطابقة
public-accessibility-full = الصفحات مطابقة لـ EN 301 549 وWCAG 2.1 المستوى AA.
public-accessibility-partial = الصفحات مطابقة جزئيًا لـ EN 301 549 وWCAG 2.1 المستوى AA، والاستثناءات فيما يلي.
public-accessibility-none = الصفحات غير مطابقة لـ EN 301 549 وWCAG 2.1 المستوى AA، والأسباب فيما يلي.
public-accessibility-defects = ما لا يمكن الوصول إليه
public-accessibility-preparation = هذا البيان
public-accessibility-prepared = أُعدّ في { $date }.
public-accessibility-self = يستند إلى تقييم من المشغّل.
public-accessibility-external = يستند إلى تقييم من جهة أخرى.
public-accessibility-feedback = الإبلاغ عن مشكلة
public-accessibility-contact = اكتب إلينا إذا منعك شيء أو احتجت إليه بشكل آخر:
public-accessibility-enforcement = إذا لم يكفِك جوابنا
public-accessibility-body = يمكنك التوجه إلى هذه الجهة:
public-privacy-title = إشعار الخصوصية
public-privacy-scope = يخص هذا الإشعار البيانات التي يعالجها { $hub } عندما تسجل الدخول إلى خدمة.
public-privacy-controller = من المسؤول
public-privacy-officer = مسؤول حماية البيانات:
public-privacy-purpose-title = الغرض من البيانات
public-privacy-purpose = تعرف الخدمة التي اخترتها من أنت، ويمكنها الاعتماد على ذلك.
public-privacy-basis = الأساس القانوني:
public-privacy-data-title = أي بيانات ومن أين تأتي
public-privacy-data = يذكر الحساب الذي تختاره من أنت وكيف سجلت الدخول ومدى موثوقية ذلك. ولا تتلقى الخدمة إلا ما يحق لها طلبه.
public-privacy-register = ويؤكدها سجل للأشخاص أو يكملها.
public-privacy-recipients = من يتلقاها
public-privacy-service = الخدمة التي تسجل الدخول إليها
public-privacy-periods = مدة الحفظ
public-privacy-login = بيانات تسجيل دخول لم يكتمل: { $period } على الأكثر.
public-privacy-session = بيانات جلستك: حتى تسجيل الخروج، و{ $idle } دون استخدام، و{ $period } على الأكثر.
public-privacy-refresh = بيانات لخدمة يمكنها العودة من دونك: { $period } على الأكثر، أو حتى تسحبها.
public-privacy-recent = أوقات وخدمات وأخطاء عمليات الدخول الأخيرة، دون اسمك، للدعم: { $period } على الأكثر.
public-privacy-audit = سجل التدقيق، بأسماء مستعارة وخدمات وأوقات: { $period }.
public-privacy-audit-unlimited = سجل التدقيق، بأسماء مستعارة وخدمات وأوقات: دون مدة محددة.
public-privacy-choice = ملف تعريف ارتباط بآخر حساب اخترته: { $period }.
public-privacy-rights-title = حقوقك
public-privacy-rights = يمكنك الاطلاع على بياناتك وطلب تصحيحها أو حذفها أو تقييد استخدامها والاعتراض عليه.
public-privacy-complaint = يمكنك تقديم شكوى إلى:
public-status-available-count =
    { $count ->
        [one] يعمل حساب واحد.
        [two] يعمل حسابان.
        [few] تعمل { $count } حسابات.
        [many] يعمل { $count } حسابًا.
       *[other] يعمل { $count } حساب.
    }
public-days =
    { $count ->
        [one] يوم واحد
        [two] يومان
        [few] { $count } أيام
        [many] { $count } يومًا
       *[other] { $count } يوم
    }
public-hours =
    { $count ->
        [one] ساعة واحدة
        [two] ساعتان
        [few] { $count } ساعات
        [many] { $count } ساعة
       *[other] { $count } ساعة
    }
public-minutes =
    { $count ->
        [one] دقيقة واحدة
        [two] دقيقتان
        [few] { $count } دقائق
        [many] { $count } دقيقة
       *[other] { $count } دقيقة
    }

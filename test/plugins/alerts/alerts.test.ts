/** The parts of alerts alone: the life of an alert, quiet hours, windows of counters, messages of
 *  each kind of receiver, balances. */
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { balanceIn } from '../../../plugins/alerts/balances.ts'
import { checkSection } from '../../../plugins/alerts/problems.ts'
import { sendTime } from '../../../plugins/alerts/quiet.ts'
import { refusalIn, requestTo } from '../../../plugins/alerts/receivers.ts'
import { CHATS } from '../../../plugins/alerts/section.ts'
import { type AlertState, transition } from '../../../plugins/alerts/transition.ts'
import { percentile99, Windows } from '../../../plugins/alerts/windows.ts'
import { checkMail, isAddress, mailSettingsOf } from '../../../plugins/webhooks/mail.ts'
import { blocksOf } from '../../docs/blocks.ts'
import { SECRET } from '../../helpers/money/webhooks.ts'

t.test('alert: has one message when it begins and one when it ends', async t => {
  let state: AlertState | undefined
  const messages: string[] = []
  const at = (now: number, isBroken: boolean) => {
    const step = transition(state, isBroken, { hold: 10, clear: 20, now })
    if (step) state = step.next ?? undefined
    if (step?.message) messages.push(`${now} ${step.message}`)
  }
  at(0, true)
  at(5, false)
  t.equal(state, undefined, 'a short failure leaves nothing')
  for (const now of [10, 15, 20, 30]) at(now, true)
  for (const now of [40, 45]) at(now, false)
  at(50, true)
  for (const now of [55, 60, 74, 75, 80]) at(now, false)
  t.same(messages, ['20 firing', '75 resolved'])
  for (const now of [90, 100]) at(now, true)
  t.same(messages.slice(2), ['100 firing'], 'it may fire again')
})

t.test(
  'quiet hours: messages wait for their end in the zone, over midnight and clock changes',
  async t => {
    const quiet = { from: 22 * 60, to: 7 * 60, zone: 'Europe/Berlin', except: [] }
    const due = (time: string, more = {}) =>
      new Date(sendTime({ ...quiet, ...more }, Date.parse(time))).toISOString()
    t.equal(due('2026-01-10T20:59:59.500Z'), '2026-01-10T20:59:59.500Z')
    t.equal(due('2026-01-10T21:00:00.000Z'), '2026-01-11T06:00:00.000Z')
    t.equal(due('2026-01-11T05:59:30.000Z'), '2026-01-11T06:00:00.000Z')
    t.equal(due('2026-01-11T06:00:00.000Z'), '2026-01-11T06:00:00.000Z')
    t.equal(due('2026-03-28T22:00:00.000Z'), '2026-03-29T05:00:00.000Z', 'an hour less')
    t.equal(due('2026-10-24T22:00:00.000Z'), '2026-10-25T06:00:00.000Z', 'an hour more')
    const noon = { from: 12 * 60, to: 13 * 60, zone: 'Asia/Kolkata' }
    t.equal(due('2026-01-10T06:45:00.000Z', noon), '2026-01-10T07:30:00.000Z')
    t.equal(sendTime(undefined, 7), 7)
  },
)

t.test('windows: count what a time added, and begin anew with the counters', async t => {
  const windows = new Windows(100)
  const reading = (value: number, route = 'a') => [
    { name: 'requests_total', labels: { route }, values: [value] },
  ]
  const sum = (ms: number) => windows.increments('requests_total', ms)[0]?.values[0]
  windows.add(0, reading(10))
  windows.add(50, reading(14))
  windows.add(100, reading(20))
  t.equal(sum(50), 6)
  t.equal(sum(100), 10)
  t.ok(windows.isWhole(100))
  windows.add(150, reading(3))
  t.equal(sum(100), 0, 'the gateway was started again')
  t.notOk(windows.isWhole(100))
  const bounds = [1, 2, 5]
  t.equal(percentile99({ labels: {}, bounds, values: [99, 1, 0, 0, 7] }), 1)
  t.equal(percentile99({ labels: {}, bounds, values: [90, 0, 10, 0, 7] }), 5)
  t.equal(percentile99({ labels: {}, bounds, values: [0, 0, 0, 1, 7] }), Number.POSITIVE_INFINITY)
})

const MESSAGE = {
  id: 'msg_1',
  kind: 'firing',
  name: 'eu-1',
  rule: 'upstream_down',
  object: 'gp https://a',
  text: 'It is <down> & out.',
  created: Date.UTC(2026, 0, 1),
} as const
const AT = 1_767_225_600_123

t.test('mail: mistakes of its section have their places', async t => {
  const placesOf = (mail: object) => {
    const places: string[] = []
    checkMail({ mail: mail as Json }, at => places.push(at.join('.')))
    return places
  }
  const login = { user: 'a', password: 'b' }
  t.same(placesOf({ ...login }), [])
  t.same(placesOf({ ...login, port: 465, tls: 'implicit' }), [])
  t.same(placesOf({ tls: 'off', port: 25 }), [])
  t.same(placesOf({ user: 'a' }), ['mail.user'])
  t.same(placesOf({ password: 'b' }), ['mail.password'])
  t.same(placesOf({ ...login, tls: 'off' }), ['mail.tls'])
  t.same(placesOf({ port: 465 }), ['mail.port'])
  t.same(placesOf({ port: 587, tls: 'implicit' }), ['mail.port'])
  t.same(placesOf({ ...login, tls: 'implicit' }), [])
  for (const [tls, port] of [
    ['implicit', 465],
    ['starttls', 587],
    ['off', 587],
  ] as const)
    t.equal(mailSettingsOf({ section: () => ({ host: 'a', tls }) as never })?.port, port)
  for (const good of ['a@b', "o'neil+x@mail.example.com", 'a.b_c@xn--bcher-kva.example'])
    t.ok(isAddress(good), good)
  const bad = [
    '',
    'a',
    'a@',
    '@b',
    'a b@c',
    'a@b c',
    'a@b,c@d',
    'A <a@b>',
    'a@b\r\nBcc: c@d',
    'a@b\n',
  ]
  for (const each of [
    ...bad,
    '.a@b',
    'a..b@c',
    'a@-b',
    'a@b..c',
    'ü@b',
    '"a"@b',
    `a@${'b'.repeat(260)}`,
  ])
    t.notOk(isAddress(each), each)
})

t.test('receivers: each kind gets a message that names rule, object and time', async t => {
  for (const kind of CHATS) {
    const { url, body } = requestTo({ kind, url: 'https://r.example/x?key=1' }, MESSAGE, AT)
    t.equal(url, 'https://r.example/x?key=1', kind)
    t.match(body, 'upstream_down', kind)
    t.match(body, 'gp https://a', kind)
    t.match(body, '2026-01-01T00:00:00.000Z', kind)
    JSON.parse(body)
  }
  const slack = requestTo({ kind: 'slack', url: 'https://r.example' }, MESSAGE, AT)
  t.match(JSON.parse(slack.body).text, 'It is &lt;down&gt; &amp; out.')
})

t.test('receivers: the body for a webhook is that of docs/alerts.md', async t => {
  const [{ text = '' } = {}] = blocksOf('docs/alerts.md').filter(each => each.language === 'json')
  const page = JSON.parse(text)
  const { body } = requestTo({ kind: 'webhook', url: 'https://r.example' }, MESSAGE, AT)
  const own = JSON.parse(body)
  t.equal(own.topic, page.topic)
  t.same(Object.keys(own.data), Object.keys(page.data))
})

t.test('receivers: signatures are those that the receivers compute', async t => {
  const signed = (kind: (typeof CHATS)[number], secret: string) =>
    requestTo({ kind, url: 'https://r.example/x?key=1', secret }, MESSAGE, AT)
  const ding = new URL(signed('dingtalk', 'SECabc').url)
  t.equal(ding.searchParams.get('timestamp'), String(AT))
  t.equal(
    ding.searchParams.get('sign'),
    createHmac('sha256', 'SECabc').update(`${AT}\nSECabc`).digest('base64'),
  )
  t.match(ding.search, /^\?key=1&/)
  const feishu = JSON.parse(signed('feishu', 'abc').body)
  const seconds = Math.floor(AT / 1_000)
  t.equal(feishu.timestamp, String(seconds))
  t.equal(feishu.sign, createHmac('sha256', `${seconds}\nabc`).update('').digest('base64'))
  const { headers, body } = requestTo(
    { kind: 'webhook', url: 'https://r.example', secret: SECRET },
    MESSAGE,
    Date.now(),
  )
  t.doesNotThrow(() => new Webhook(SECRET).verify(body, headers as Record<string, string>))
})

t.test('receivers: an answer with status 200 may refuse the message', async t => {
  t.equal(refusalIn({ kind: 'slack' }, 'ok'), undefined)
  t.equal(refusalIn({ kind: 'webhook' }, ''), undefined)
  t.equal(refusalIn({ kind: 'dingtalk' }, '{"errcode":0,"errmsg":"ok"}'), undefined)
  t.match(refusalIn({ kind: 'dingtalk' }, '{"errcode":310000,"errmsg":"sign"}'), '310000')
  t.match(refusalIn({ kind: 'wecom' }, '{"errcode":93000}'), '93000')
  t.equal(refusalIn({ kind: 'feishu' }, '{"StatusCode":0}'), undefined)
  t.match(refusalIn({ kind: 'feishu' }, '{"code":19021,"msg":"sign"}'), '19021')
  t.match(refusalIn({ kind: 'feishu' }, '<html>'), 'html')
})

t.test('balances: are numbers in an answer, or unknown', async t => {
  const deepseek = '{"balance_infos":[{"total_balance":"110.50"}]}'
  t.equal(balanceIn(deepseek, 'balance_infos.0.total_balance'), 110.5)
  const openrouter = '{"data":{"total_credits":20,"total_usage":12.5}}'
  t.equal(balanceIn(openrouter, 'data.total_credits', 'data.total_usage'), 7.5)
  for (const text of ['', 'null', '[]', '{"data":null}', '{"data":{"total_credits":""}}'])
    t.equal(balanceIn(text, 'data.total_credits'), undefined, text)
})

t.test('alerts: mistakes that no schema sees have their places', async t => {
  const problems: string[] = []
  const alerts = {
    to: [
      { kind: 'webhook', url: 'https://a', secret: 'short' },
      { kind: 'slack', url: 'https://a', secret: 'x' },
      { kind: 'mail', to: 'a@a.example' },
    ],
    quiet: { from: '22:00', to: '07:00', zone: 'Europe/Bärlin' },
    balances: [{ upstream: 'none', path: '/', at: 'a', below: 1 }],
  }
  checkSection({ alerts, upstreams: {}, pipeline: [] }, at => problems.push(at.join('.')))
  t.same(problems, [
    'alerts',
    'alerts.quiet.zone',
    'alerts.to.0.secret',
    'alerts.to.1.secret',
    'alerts.to.2.kind',
    'alerts.balances.0.upstream',
  ])
  for (const zone of ['+02:00', '-0530', 'Etc/None'])
    checkSection(
      { alerts: { quiet: { zone } }, upstreams: {}, pipeline: ['alerts'] },
      (_, __, message) => problems.push(message),
    )
  t.match(problems.slice(6), [/"\+02:00" is an offset/, /"-0530" is an offset/, /not a time zone/])
})

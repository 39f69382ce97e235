/** Alerts of a whole gateway with two workers: each is announced once to every receiver, with one
 *  recovery, while workers and the whole gateway are killed with -9. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { startGateway, type TestGateway } from '../../helpers/gateway/gateway.ts'
import { type MailServer, startMailServer } from '../../helpers/money/mail-server.ts'
import { SECRET } from '../../helpers/money/webhooks.ts'

const serve = async (t: Test, listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

const KINDS = ['webhook', 'slack', 'feishu', 'dingtalk', 'wecom'] as const
/** Receivers of all kinds at one server. The first message to each fails, and is sent again. */
const startReceivers = async (t: Test) => {
  const messages: { readonly kind: string; readonly text: string }[] = []
  const waiting = new Set<() => void>()
  const url = await serve(t, async (request, response) => {
    const body = await textOf(request)
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://r')
    const kind = pathname.slice(1)
    if (kind === 'webhook')
      new Webhook(SECRET).verify(body, request.headers as Record<string, string>)
    const stamp = searchParams.get('timestamp')
    const sign = createHmac('sha256', 'SEC1').update(`${stamp}\nSEC1`).digest('base64')
    const isRefused = kind === 'dingtalk' && searchParams.get('sign') !== sign
    const { text = '', content, data } = JSON.parse(body)
    const words = text || content?.text || JSON.parse(body).text?.content || ''
    const state = data?.state ?? /^\w+/.exec(typeof words === 'string' ? words : words.content)?.[0]
    if (!isRefused)
      messages.push({ kind, text: `${state} ${data?.rule ?? words.content ?? words}` })
    response.end(JSON.stringify({ errcode: isRefused ? 310000 : 0, code: 0 }))
    for (const look of waiting) look()
  })
  const until = (isDone: () => boolean) =>
    new Promise<void>(resolve => {
      const look = () => {
        if (isDone() && waiting.delete(look)) resolve()
      }
      waiting.add(look)
      look()
    })
  return { url, messages, until }
}

const routesOf = (upstream: string, receivers: string, mail: MailServer, rules: string) => `
pipeline: [errors, auth, model, meter, console, alerts]
upstreams:
  up: { url: '${upstream}', health: { failures: 2, eject: 100ms } }
mail:
  host: 127.0.0.1
  port: ${mail.port}
  ca: ${JSON.stringify(mail.ca)}
  user: ops
  password: '${'${SMTP_PASSWORD}'}'
  from: tollgate@example.com
alerts:
  to:
    - { kind: webhook, url: '${receivers}/webhook', secret: '${SECRET}' }
    - { kind: slack, url: '${receivers}/slack' }
    - { kind: feishu, url: '${receivers}/feishu', secret: abc }
    - { kind: dingtalk, url: '${receivers}/dingtalk', secret: SEC1 }
    - { kind: wecom, url: '${receivers}/wecom' }
    - { kind: mail, to: ops@example.com }
  every: 100ms
  clear: 1s
  rules: ${rules}
routes:
  - { path: POST /, auth: none, upstream: up, meter: { free: true } }
`

t.test('alerts: an upstream that is down has one message and one recovery, over kills', async t => {
  let status = 500
  const upstream = await serve(t, (_, response) => void response.writeHead(status).end('{}'))
  const receivers = await startReceivers(t)
  const mail = await startMailServer(t)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-alerts-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const routes = routesOf(
    upstream,
    receivers.url,
    mail,
    '{ upstream_down: { for: 1ms }, error_share: false }',
  )
  const start = () =>
    startGateway({ routes, data: folder, env: { WORKERS: '2', SMTP_PASSWORD: 'right' } })
  let gateway: TestGateway = await start()
  t.teardown(() => gateway.stop())
  const call = () =>
    fetch(gateway.url, { method: 'POST' }).then(
      r => r.arrayBuffer(),
      () => {},
    )
  /** Calls until the condition holds: only calls show whether an upstream works. */
  const callUntil = async (isDone: () => boolean | Promise<boolean>) => {
    while (!(await isDone())) await call()
  }
  const of = (kind: string, word: RegExp) =>
    receivers.messages.filter(each => each.kind === kind && word.test(each.text))
  const everyone = (word: RegExp) =>
    KINDS.every(kind => of(kind, word).length > 0) &&
    mail.mails.some(({ text }) => word.test(/^Subject: (.*)/m.exec(text)?.[1] ?? ''))
  const alert = async () => {
    const response = await gateway.askAdmin('/-/admin/alerts')
    return ((await response.json()) as { state: string }[])[0]
  }

  await callUntil(() => everyone(/^(firing|ALERT)/))
  t.match(await alert(), { rule: 'upstream_down', object: `up ${upstream}`, state: 'firing' })

  const live = (await (await gateway.askAdmin('/-/config')).json()) as {
    workers: { pid: number }[]
  }
  for (const { pid } of live.workers) process.kill(pid, 'SIGKILL')
  for (let count = 0; count < 20; count++) await call()
  await gateway.stop('SIGKILL')
  gateway = await start()
  for (let count = 0; count < 20; count++) await call()
  t.match(await alert(), { state: 'firing' }, 'a new process has no proof that it works')

  status = 200
  await callUntil(() => everyone(/^(resolved|RECOVERED)/))
  t.match(await alert(), { state: 'resolved' })
  const test = await gateway.askAdmin('/-/admin/alerts/test', { method: 'POST', body: '{}' })
  t.match(await test.json(), [
    ...KINDS.map(kind => ({ receiver: new RegExp(`^${kind} 127`), state: 'delivered' })),
    { receiver: 'mail ops@example.com', state: 'delivered' },
  ])
  for (const kind of KINDS) {
    t.equal(of(kind, /^(firing|ALERT)/).length, 1, `${kind}: one message`)
    t.equal(of(kind, /^(resolved|RECOVERED)/).length, 1, `${kind}: one recovery`)
    t.equal(of(kind, /^(test|TEST)/).length, 1, `${kind}: one test`)
  }
  const subjects = mail.mails.map(({ text }) => /^Subject: (.*)\r$/m.exec(text)?.[1])
  t.same(subjects, [
    `ALERT Tollgate: upstream_down up ${upstream}`,
    `RECOVERED Tollgate: upstream_down up ${upstream}`,
    subjects[2],
  ])
  t.match(subjects[2], /^TEST Tollgate: test msg_/)
  t.match(
    mail.mails,
    [1, 2, 3].map(() => ({ to: ['ops@example.com'], user: 'ops', secure: true })),
  )
})

t.test('alerts: every rule that is broken has a message with its numbers', async t => {
  const upstream = await serve(t, ({ url = '' }, response) => {
    const answers = url.startsWith('/balance')
      ? { status: 200, body: '{"data":{"total":"7.5"}}' }
      : { status: url.startsWith('/key') ? 401 : 500, body: '{}' }
    response.writeHead(answers.status).end(answers.body)
  })
  const receivers = await startReceivers(t)
  const gateway = await startGateway({
    routes: `
pipeline: [errors, auth, model, meter, alerts]
upstreams:
  up: { url: '${upstream}', health: { failures: 1000000 } }
  locked: { url: '${upstream}', key: sk-1 }
alerts:
  to: [{ kind: slack, url: '${receivers.url}/slack' }]
  every: 100ms
  rules:
    error_share: { for: 1ms, above: 50%, calls: 5 }
    key_refused: { for: 1ms }
    disk: { for: 1ms, below: 100% }
    p99: { for: 1ms, above: 1ms, calls: 1 }
  balances: [{ upstream: locked, path: /balance, at: data.total, below: 10 }]
routes:
  - { path: POST /failing, name: failing, auth: none, upstream: up, meter: { free: true } }
  - { path: POST /key, auth: none, upstream: locked, meter: { free: true } }
`,
  })
  t.teardown(() => gateway.stop())
  for (let count = 0; count < 10; count++)
    await fetch(`${gateway.url}/failing`, { method: 'POST' }).then(r => r.arrayBuffer())
  await fetch(`${gateway.url}/key`, { method: 'POST' }).then(r => r.arrayBuffer())
  const words = [
    /error_share failing\n10 of 10 calls of the route failing failed in 5 min \(100%\)\./,
    /key_refused locked [0-9a-f]{12}\nThe upstream locked refused the key/,
    /disk data folder\n[\d.]+% of the disk of the data folder is free\./,
    /balance locked [0-9a-f]{12}\nThe balance at locked is 7\.5; the bound is 10\./,
    /p99 failing\n99 of 100 calls of the route failing took up to [\d.]+ s in 10 min\./,
  ]
  const has = (word: RegExp) => receivers.messages.filter(({ text }) => word.test(text)).length
  await receivers.until(() => words.every(word => has(word) > 0))
  for (const word of words) t.equal(has(word), 1, String(word))
  t.notMatch(gateway.output(), /sk-1|could not be looked at/)
})

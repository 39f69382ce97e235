/** The page Upstreams in a browser: an address and a key leave their states, and their rows show
 *  the new state and since when. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { seriousFindings } from '../../helpers/console/accessibility.ts'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import {
  OPERATOR_ROUTES,
  SESSION_SCHEMA,
  startConsole,
} from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const CLOSED = 'http://127.0.0.1:1'
const KEYS = { REFUSED_KEY: 'sk-refused', ACCEPTED_KEY: 'sk-accepted' }
const rowName = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 12)
const routesFor = (address: string): string => `
pipeline: [errors, auth, validate, model, console, translate]
upstreams:
  far: { title: Far away, url: '${CLOSED}', health: { failures: 2, eject: 1h }, formats: [openai-chat] }
  near: { url: '${address}', key: ['\${REFUSED_KEY}', '\${ACCEPTED_KEY}'], formats: [openai-chat] }
models:
  lost: { to: far/m, free: true }
  kept: { to: near/m, free: true }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: GET /console, auth: none, console: page, errors: envelope }
  - { path: 'GET /console/{file}', auth: none, console: file, errors: envelope }
  - { path: GET /api/session, auth: session, console: session, errors: envelope }
${OPERATOR_ROUTES}`

t.test('page Upstreams: states and their times', { skip: missingBrowser }, async t => {
  const address = await startHttpUpstream(t, ({ headers }, response) => {
    const isRefused = headers.authorization === `Bearer ${KEYS.REFUSED_KEY}`
    const message = { role: 'assistant', content: 'Hello' }
    const answer = { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] }
    response.writeHead(isRefused ? 401 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isRefused ? { error: { message: 'Unknown key' } } : answer))
  })
  const [gateway, browser] = await Promise.all([
    startConsole(t, { routes: routesFor(address), files: SESSION_SCHEMA, env: KEYS }),
    startBrowser(t),
  ])
  const operator = await gateway.signIn({ token: gateway.token })
  const wide = await openWindow(t, browser, gateway, { as: operator })
  const narrow = await openWindow(t, browser, gateway, {
    as: operator,
    width: 390,
    theme: 'dark',
    locale: 'zh-CN',
  })
  type Window = typeof wide
  /** The row whose cell of the address or key has this text. */
  const rowOf = ({ page }: Window, name: string) =>
    page.getByRole('row').filter({ has: page.getByRole('cell', { name, exact: true }) })
  const call = async (model: string): Promise<number> => {
    const body = { model, messages: [{ role: 'user', content: 'Hello' }] }
    const headers = { authorization: `Bearer ${gateway.apiKey}` }
    return (await gateway.ask('POST', '/v1/chat/completions', body, headers)).status
  }

  await wide.open('upstreams')
  const [refused, accepted] = Object.values(KEYS).map(rowName)
  for (const name of [CLOSED, address, `key ${refused}`, `key ${accepted}`]) {
    const row = rowOf(wide, name)
    await row.getByText('ready', { exact: true }).waitFor()
    t.equal(await row.locator('time').count(), 0, `${name}: ready all the time`)
  }

  const begin = Date.now()
  await eventually(async () => {
    t.equal(await call('lost'), 502)
    t.equal(await call('kept'), 200)
    const { body } = await operator.ask('GET', '/api/admin/upstreams')
    const text = JSON.stringify(body)
    return text.includes('"ejected"') && text.includes('"resting"')
  })
  const end = Date.now()
  const english = [
    [CLOSED, 'ejected'],
    [`key ${refused}`, 'resting'],
  ] as const
  const chinese = [
    [CLOSED, '已剔除'],
    [`密钥 ${refused}`, '休眠'],
  ] as const
  const times: (readonly (string | null)[])[] = []
  for (const [window, expected, word] of [
    [wide, english, 'changed'],
    [narrow, chinese, '变更于'],
  ] as const) {
    await window.open('upstreams')
    const read = expected.map(async ([name, state]) => {
      const row = rowOf(window, name)
      await row.getByText(state, { exact: true }).waitFor()
      await row.getByText(word).waitFor()
      return row.locator('time').getAttribute('datetime')
    })
    times.push(await Promise.all(read))
    t.same(await seriousFindings(window.page), [], word)
  }
  // Of a clock without steps: rounded to a ms anew for each view.
  for (const time of times.flat()) {
    const at = Date.parse(String(time))
    t.ok(begin - 1 <= at && at <= end + 1, `${time} is the time of the calls`)
  }
  for (const name of [address, `key ${accepted}`]) {
    const row = rowOf(wide, name)
    await row.getByText('ready', { exact: true }).waitFor()
    t.equal(await row.locator('time').count(), 0, `${name}: still ready`)
  }
  t.same([...wide.faults, ...narrow.faults], [])
})

/** The machine's clock jumps forty days ahead and an hour back while calls are under way: nothing that lives is taken for dead,
 *  nothing ends twice, limits come back with their window, and nothing took less than no time. */
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { eventually } from '../../helpers/primary.ts'
import { sql } from '../../helpers/store.ts'
import { startUpstream } from '../../helpers/upstream.ts'

/** Debian: apt-get install faketime. */
const [LIBRARY = ''] = globSync('/usr/lib/{*/,}faketime/libfaketime.so.1')
const DAY = 86_400_000
const ANSWER = JSON.stringify({
  id: 'x',
  choices: [],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
})
const SAID = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`

t.setTimeout(120_000)
t.test(
  'the clock jumps',
  { skip: !existsSync(LIBRARY) && 'libfaketime is not installed' },
  async t => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-clock-'))
    const clock = join(folder, 'clock')
    const set = (offset: string): void => writeFileSync(clock, `${offset}\n`)
    set('+0')
    const upstream = await startUpstream()
    const gateway = await startGateway({
      env: {
        LD_PRELOAD: LIBRARY,
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_CACHE_DURATION: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
      routes: `
pipeline: [errors, auth, model, limit, idempotency, meter]
upstreams: { up: { url: '${upstream.url}/s/chat' }, raw: { url: '${upstream.url}' } }
models: { call: { to: up, price: { calls: 1 } } }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, rewrite: '/', idempotency: true, errors: openai }
  - { path: 'GET /often', upstream: raw, rewrite: /s/ok, auth: key, limit: { requests: 2/s } }
`,
    })
    t.teardown(async () => {
      await Promise.all([gateway.stop(), upstream.stop()])
      rmSync(folder, { recursive: true, force: true })
    })
    const headers = { authorization: `Bearer ${await gateway.key()}`, connection: 'close' }
    const database = await openDatabase({
      url: 'sqlite:',
      data: gateway.data,
      writeTimeout: 10_000,
    })
    t.teardown(() => database.close())
    const rows = (text: string) => database.read(sql(`test: ${text}`, text), [])
    const credit = { account: 1, kind: 'credit', amount: 10_000_000_000n, note: 'test' } as const
    await database.write([openWallet(2, 0n), addCredit({ ...credit, at: Date.now() })])
    const ask = async (key: string) => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': key },
        body: '{"model":"call","messages":[],"stream":true}',
      })
      await response.text()
      return response.status
    }
    const often = async () => {
      const response = await fetch(`${gateway.url}/often`, { headers })
      await response.arrayBuffer()
      return { status: response.status, now: Date.parse(String(response.headers.get('date'))) }
    }
    const beats = async () =>
      Number((await rows('SELECT max(beat) AS n FROM tollgate_processes'))[0]?.n)
    /** Until the gateway goes by it, and two of its beats later. */
    const jump = async (offset: string, ms: number): Promise<void> => {
      set(offset)
      await eventually(async () =>
        Math.abs((await often()).now - Date.now() - ms) < DAY / 48 ? true : undefined,
      )
      const from = await beats()
      await eventually(async () => ((await beats()) > from + 1 ? true : undefined))
    }
    await upstream.script('ok', [{ do: 'send', bytes: SAID }])
    for (const [name, offset, ms] of [
      ['ahead', '+40d', 40 * DAY],
      ['back', '-1h', -DAY / 24],
    ] as const)
      await t.test(name, async t => {
        await upstream.script('chat', [
          { do: 'gate', name },
          { do: 'send', bytes: SAID },
        ])
        const call = ask(name)
        await eventually(async () =>
          (await rows("SELECT 1 FROM charges WHERE state = 'open'")).length === 1
            ? true
            : undefined,
        )
        await jump(offset, ms)
        t.equal((await rows("SELECT 1 FROM charges WHERE state = 'open'")).length, 1, 'it lives')
        t.equal(await ask(name), 409, 'and has its key')
        await upstream.open(name)
        t.equal(await call, 200)
        await eventually(async () => ((await often()).status === 200 ? true : undefined))
      })
    t.match(
      await rows("SELECT count(*) AS n, sum(amount) AS paid FROM charges WHERE state = 'settled'"),
      [{ n: 2, paid: 2_000_000_000 }],
    )
    t.match(await rows('SELECT balance FROM wallets WHERE id = 2'), [{ balance: 8_000_000_000 }])
    const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
    t.notMatch(metrics, /^tollgate_\w*(?:seconds|_total)\S* -/m)
  },
)

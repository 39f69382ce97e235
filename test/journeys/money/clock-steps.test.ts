/** The machine's clock jumps forty days ahead and one hour back during calls: no live process is
 *  reaped, no call is settled twice, limits recover with their window, and no duration is
 *  negative. */
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

/** The library comes from Debian's package: apt-get install faketime. */
const [LIBRARY = ''] = globSync('/usr/lib/{*/,}faketime/libfaketime.so.1')
const DAY = 86_400_000
const ANSWER = JSON.stringify({
  id: 'x',
  choices: [],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
})
const RESPONSE = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`

t.setTimeout(120_000)
t.test(
  'clock steps: running calls, limits and metrics survive jumps in both directions',
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
    const callLimited = async () => {
      const response = await fetch(`${gateway.url}/often`, { headers })
      await response.arrayBuffer()
      return { status: response.status, now: Date.parse(String(response.headers.get('date'))) }
    }
    const maxHeartbeat = async () =>
      Number((await rows('SELECT max(beat) AS n FROM tollgate_processes'))[0]?.n)
    /** Waits until the gateway uses the new time and has written two more heartbeats. */
    const jump = async (offset: string, ms: number): Promise<void> => {
      set(offset)
      await eventually(async () =>
        Math.abs((await callLimited()).now - Date.now() - ms) < DAY / 48 ? true : undefined,
      )
      const from = await maxHeartbeat()
      await eventually(async () => ((await maxHeartbeat()) > from + 1 ? true : undefined))
    }
    await upstream.script('ok', [{ do: 'send', bytes: RESPONSE }])
    for (const [name, offset, ms] of [
      ['forty days ahead', '+40d', 40 * DAY],
      ['one hour back', '-1h', -DAY / 24],
    ] as const)
      await t.test(name, async t => {
        await upstream.script('chat', [
          { do: 'gate', name },
          { do: 'send', bytes: RESPONSE },
        ])
        const call = ask(name)
        await eventually(async () =>
          (await rows("SELECT 1 FROM charges WHERE state = 'open'")).length === 1
            ? true
            : undefined,
        )
        await jump(offset, ms)
        t.equal(
          (await rows("SELECT 1 FROM charges WHERE state = 'open'")).length,
          1,
          'the call is still open',
        )
        t.equal(await ask(name), 409, 'the call still holds its key')
        await upstream.open(name)
        t.equal(await call, 200)
        await eventually(async () => ((await callLimited()).status === 200 ? true : undefined))
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

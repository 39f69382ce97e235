/** The machine's clock jumps forty days ahead and one hour back during calls, and steps under load:
 *  no live process is reaped, no call is settled twice, limits recover with their window, and no
 *  duration is negative. The long form makes 30 steps. */
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { createChance, shortOrLong } from '../../helpers/run-settings.ts'
import { sql } from '../../helpers/store/store.ts'

/** The library comes from Debian's package: apt-get install faketime. */
const [LIBRARY = ''] = globSync('/usr/lib/{*/,}faketime/libfaketime.so.1')
const DAY = 86_400_000
const HOUR = DAY / 24
const STEPS = shortOrLong(3, 30)
const ANSWER = JSON.stringify({
  id: 'x',
  choices: [{ finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
})
const RESPONSE = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`

t.setTimeout(scaled(shortOrLong(120_000, 900_000)))
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
      writeTimeout: 60_000,
    })
    t.teardown(() => database.close())
    const rows = (text: string) => database.read(sql(`test: ${text}`, text), [])
    const credit = { account: 1, kind: 'credit', amount: 10_000_000_000n, note: 'test' } as const
    await database.write([openWallet(2, 0n), addCredit({ ...credit, at: Date.now() })])
    const ask = async (key: string) => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': key.replaceAll(' ', '-') },
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
      ['one hour back', '-1h', -HOUR],
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
    await t.test('steps under load', async t => {
      await upstream.script('chat', [{ do: 'send', bytes: RESPONSE }])
      await database.write([addCredit({ ...credit, amount: 10n ** 15n, at: Date.now() })])
      const settled = async () => {
        const list =
          "SELECT count(*) AS n, sum(amount) AS paid FROM charges WHERE state = 'settled'"
        const [row] = await rows(list)
        return { count: Number(row?.n), paid: Number(row?.paid) }
      }
      const before = await settled()
      const statuses: number[] = []
      let isOver = false
      let calls = 0
      const lane = async (): Promise<void> => {
        while (!isOver) statuses.push(await ask(`under load ${calls++}`))
      }
      const lanes = Array.from({ length: 8 }, lane)
      const chance = createChance()
      for (let step = 0; step < STEPS; step++) {
        const hours = Math.floor(chance() * 2_000) - 1_000
        await jump(`${hours < 0 ? '' : '+'}${hours}h`, hours * HOUR)
      }
      isOver = true
      await Promise.all(lanes)
      t.same(
        statuses.filter(status => status !== 200),
        [],
        'every call is served',
      )
      const after = await settled()
      t.equal(after.count - before.count, calls, 'each call is charged once')
      t.equal(after.paid - before.paid, calls * 1_000_000_000)
      t.same(await rows("SELECT 1 FROM charges WHERE state = 'open'"), [])
      t.same(await audit(database), [], 'the books balance')
      const durations = gateway.output().match(/"(?:ms|added)":-[^,]+/g)
      t.same(durations, null, 'no duration in the log is negative')
      t.comment(`${STEPS} steps, ${calls} calls`)
    })
    const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
    t.notMatch(metrics, /^tollgate_\w*(?:seconds|_total)\S* -/m)
  },
)

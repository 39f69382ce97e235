/** Money in under kills: codes are redeemed and payments are credited while the gateway, its
 *  workers and its writer are killed. Each becomes credit once; statements that are read meanwhile
 *  add up and have every credit that was answered, and the last one ends at the balance. The long
 *  form kills 300 times, a few in a row, also while the gateway starts. */
import t from 'tap'
import { audit } from '../../../plugins/ledger/audit.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { createChance, LONG, shortOrLong } from '../../helpers/run-settings.ts'
import { sql } from '../../helpers/store/store.ts'
import { createTree } from '../gateway-tree.ts'
import { pause, STORES, type StoreName } from '../stores.ts'

t.setTimeout(scaled(LONG ? 7_200_000 : 300_000))
const KILLS = shortOrLong(4, 300)
/** Kills before the gateway may recover. */
const IN_A_ROW = shortOrLong(1, 3)
const CLIENTS = 4
const ROUTES = `
pipeline: [errors, observe, auth, account, console]
routes:
  - { path: POST /api/codes/redeem, auth: system-token, account: redeem-code, errors: envelope }
  - { path: GET /api/statements, auth: system-token, account: statements, errors: envelope }
  - { path: 'GET|POST /api/admin/{resource}', auth: { by: [system-token], role: admin }, console: admin, errors: envelope }
`
/** The parts of the closing balance of a statement. */
const SUMS = ['opening', 'credited', 'debited', 'refunded', 'planned', 'charged'] as const
interface Reply {
  readonly status: number
  readonly data: Readonly<Record<string, string>> & readonly Readonly<Record<string, string>>[]
}

for (const store of Object.keys(STORES) as StoreName[])
  t.test(`money in (${store}): codes and payments become credit once under kills`, async t => {
    const setup = await STORES[store]()
    const tree = createTree(ROUTES, setup.url, {})
    const chance = createChance()
    t.teardown(async () => {
      await tree.stop().catch(() => {})
      tree.remove()
      await setup.end()
    })
    await tree.start()
    const token = await eventually(() => /\b(st-[A-Za-z0-9]{20,})/.exec(tree.output())?.[1])
    /** Repeats a request until its answer is certain: the same code and reference are safe. */
    const ask = async (method: string, path: string, body?: object): Promise<Reply> => {
      for (;;) {
        const response = await fetch(tree.url() + path, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
        }).catch(() => undefined)
        const text = await response?.text().catch(() => undefined)
        if (response && text !== undefined && response.status < 500)
          return { status: response.status, data: JSON.parse(text).data }
        await pause(50)
      }
    }
    let isOver = false
    const credited = { codes: 0, payments: 0 }
    const client = async (name: number) => {
      for (let round = 0; !isOver; round++) {
        const reference = `pay-${name}-${round}`
        const payment = { account: 'admin', amount: '3', reference }
        const paid = await ask('POST', '/api/admin/credits', payment)
        t.equal(paid.status, 200, reference)
        credited.payments++
        // A code whose creation was answered is redeemed once, by two requests at once.
        const { data: codes } = await ask('POST', '/api/admin/codes', { amount: '2', count: 1 })
        const code = codes[0]?.code
        const both = [1, 2].map(() => ask('POST', '/api/codes/redeem', { code }))
        t.same(
          (await Promise.all(both)).map(({ status }) => status),
          [200, 200],
        )
        credited.codes++
      }
    }
    let statements = 0
    const reader = async () => {
      for (; !isOver; statements++) {
        const least = credited.payments * 3 + credited.codes * 2
        const month = new Date().toISOString().slice(0, 7)
        const { data } = await ask('GET', `/api/statements?period=${month}`)
        const sums = SUMS.map(name => Number(data[0]?.[name]))
        const [opening = 0, paid = 0, debited = 0, refunded = 0, planned = 0, charged = 0] = sums
        const closing = opening + paid + debited + refunded + planned - charged
        t.equal(Number(data[0]?.closing), closing, 'a statement adds up')
        t.ok(opening + paid >= least, 'it has each credit that was answered')
      }
    }
    const clients = [...Array.from({ length: CLIENTS }, (_, name) => client(name)), reader()]
    const kinds = ['worker', 'all', 'primary', ...setup.kinds]
    for (let kill = 1; kill <= KILLS; kill++) {
      const isLast = kill % IN_A_ROW === 0 || kill === KILLS
      await pause(200 + chance() * 800)
      const kind = kinds[Math.floor(chance() * kinds.length)] ?? 'all'
      if (!(await setup.harm(kind, chance))) await tree.kill(kind, chance)
      if (kind === 'all' || kind === 'primary') tree.launch()
      if (isLast) await tree.untilRecovered()
    }
    isOver = true
    await Promise.all(clients)
    const { payments, codes } = credited
    t.comment(`${KILLS} kills, ${payments} payments, ${codes} codes, ${statements} statements`)
    const month = new Date().toISOString().slice(0, 7)
    const [statement] = (await ask('GET', `/api/statements?period=${month}`)).data
    const expected = payments * 3 + codes * 2
    const database = await setup.open(tree.data)
    const [wallet] = await database.read(sql('w', 'SELECT balance FROM wallets WHERE id = 2'), [])
    const [sum] = await database.read(
      sql(
        's',
        `SELECT count(*) AS entries, count(DISTINCT note) AS notes FROM credits
         WHERE note LIKE 'pay-%' OR note LIKE 'code %'`,
      ),
      [],
    )
    t.equal(Number(sum?.entries), payments + codes, 'no credit is lost or entered twice')
    t.equal(Number(sum?.notes), payments + codes)
    t.equal(Number(statement?.closing), Number(wallet?.balance) / 1e9, 'the statement')
    t.equal(Number(statement?.credited), expected)
    t.same(await audit(database), [])
    await database.close()
  })

/** Kills a gateway and its store at random instants while clients create tasks, and compares what
 *  the clients, the upstream and the ledger know:
 *  `node test/chaos/tasks/task-kills.ts --kills 300 --seed 1 --store postgres --gateways 2`. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import type { Copy } from '../../../plugins/task/task.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { createChance } from '../../helpers/run-settings.ts'
import { sql } from '../../helpers/store/store.ts'
import { createTree, KINDS, type Tree } from '../gateway-tree.ts'
import { STORES, type StoreName, type StoreSetup } from '../stores.ts'
import { BATCH_ROUTES, batchViolations, OPEN_BATCHES, startBatches } from './batch-client.ts'
import {
  callAndRotate,
  createRotatingKey,
  quotaViolations,
  ROTATION_ROUTE,
} from './rotating-client.ts'
import type { TaskUpstreamLog } from './upstream.ts'

export interface TaskKillOptions {
  readonly store: StoreName
  readonly kills: number
  readonly seed: number
  /** Gateways on the store, each of which is killed while the others go on; 1 with SQLite. */
  readonly gateways?: number
  /** ms after a recovery until the next kill, at most. */
  readonly within?: number
  report?(line: string): void
}
export interface TaskKillOutcome {
  readonly kills: Readonly<Record<string, number>>
  /** Tasks by state. */
  readonly states: Readonly<Record<string, number>>
  /** ms from each kill to the next poll of any task: the longest by kind. */
  readonly resumed: Readonly<Record<string, number>>
  /** Creates that the clients know of, and those without an answer. */
  readonly acknowledged: number
  /** Batches that the client knows of. */
  readonly batches: number
  /** Secrets that a rotated key with a quota has had. */
  readonly secrets: number
  /** Tasks with an image that the upstream got, and files of results that were copied. */
  readonly images: number
  readonly copies: number
  readonly unanswered: number
  readonly violations: readonly string[]
}

const CREDIT = 10n ** 18n
const CLIENTS = 4
const POLL = `poll:
        path: GET /ent/v2/tasks/{id}/creations
        every: 100ms..300ms
        deadline: 10m
        state: /state
        states: { created: submitted, queueing: submitted, processing: running, success: succeeded, failed: failed }
        error: { code: /err_code }
        results: /creations`
const routesTo = (port: number): string => `
pipeline: [errors, auth, model, files, batches, meter, task, account, translate]
upstreams: { up: { url: 'http://127.0.0.1:${port}', key: [key-one, key-two], formats: [openai-images, openai-chat] } }
models:
  clip: { to: up/clip, price: { seconds: 0.025 }, max_calls: { seconds: 16 } }
  image: { to: up/image, price: { calls: 0.1 } }
  chat: { to: up/chat, price: { output: 1 / 1k }, output: 100 }
budgets:
  day: { of: account, amount: 1000000, per: day }
  seat: { of: key, amount: 1000000, per: life }
  tokens: { of: account, tokens: 1_000_000_000, per: month }
routes:
  - path: POST /ent/v2/text2video
    model: body
    errors: vidu
    task:
      dialect: vidu
      submit: { id: /task_id }
      ${POLL}
      results: copy
  - path: POST /v1/videos
    model: body
    errors: openai
    task:
      dialect: openai-videos
      submit: { id: /task_id, path: /ent/v2/text2video }
      ${POLL}
  - path: POST /v1/images/generations
    model: body
    errors: openai
    task: { call: {} }
    translate: openai-images
  - { path: 'GET /files/{name}', auth: none, files: signed }${BATCH_ROUTES}${ROTATION_ROUTE}
`
/** A task carries as much as a small photo. */
const IMAGE = `data:image/png;base64,${'A'.repeat(200_000)}`
/** Ways to create a task, and the member of the answer that names it. */
const KINDS_OF_TASKS = [
  {
    path: '/ent/v2/text2video',
    model: 'clip',
    idIn: 'task_id',
    more: { duration: 5, images: [IMAGE] },
  },
  { path: '/v1/videos', model: 'clip', idIn: 'id', more: { seconds: '5', duration: 5 } },
  { path: '/v1/images/generations', model: 'image', idIn: 'id', more: {} },
] as const
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const HEADERS = { 'content-type': 'application/json', prefer: 'respond-async' }

interface Creates {
  /** Intent -> id of its task. */
  readonly acknowledged: Map<string, string>
  unanswered: number
  readonly refused: string[]
}
/** Creates tasks, each once, until `isOver`: a create without an answer is not repeated. */
const createTasks = async (
  tree: Tree,
  key: string,
  client: number,
  creates: Creates,
  isOver: () => boolean,
): Promise<void> => {
  for (let count = 0; !isOver(); count++) {
    const prompt = `intent ${client}.${count}`
    const [first] = KINDS_OF_TASKS
    const { path, model, idIn, more } = KINDS_OF_TASKS[count % KINDS_OF_TASKS.length] ?? first
    const body = JSON.stringify({ model, prompt, ...more })
    const headers = { ...HEADERS, authorization: `Bearer ${key}` }
    try {
      const response = await fetch(tree.url() + path, { method: 'POST', headers, body })
      const answer = (await response.json()) as { readonly [name: string]: string }
      const id = answer[idIn]
      if (response.ok && id) creates.acknowledged.set(prompt, id)
      else if (response.status >= 500) creates.unanswered++
      else creates.refused.push(`${path}: ${response.status} ${JSON.stringify(answer)}`)
    } catch {
      creates.unanswered++
    }
    await pause(40)
  }
}

const killAll = async (
  { kills, seed, within = 900, report = () => {} }: TaskKillOptions,
  trees: readonly Tree[],
  setup: StoreSetup,
): Promise<readonly { readonly at: number; readonly kind: string }[]> => {
  const chance = createChance(seed)
  const kinds = [...KINDS, ...setup.kinds]
  const log: { at: number; kind: string }[] = []
  for (let kill = 0; kill < kills; kill++) {
    await pause(100 + chance() * within)
    const kind = kinds[kills < 20 ? kill % kinds.length : Math.floor(chance() * kinds.length)] ?? ''
    const tree = trees[Math.floor(chance() * trees.length)] as Tree
    report(`kill ${kill + 1} of ${kills}: ${kind} of gateway ${trees.indexOf(tree) + 1}`)
    log.push({ at: Date.now(), kind })
    if (!(await setup.harm(kind, chance))) await tree.kill(kind, chance)
    if (kind === 'all' || kind === 'primary') await tree.start()
    for (const each of trees) await each.untilRecovered()
  }
  return log
}

const OPEN =
  "SELECT count(*) AS open FROM tasks WHERE state NOT IN ('succeeded', 'failed', 'unknown')"
const STUCK = `SELECT id, state, process, due, attempts FROM tasks
  WHERE state NOT IN ('succeeded', 'failed', 'unknown') LIMIT 10`
const TASKS = `SELECT t.id, t.state, q.summary, t.is_call, t.dialect, t.copies, c.state AS charge, c.amount, c.held
  FROM tasks t JOIN task_requests q ON q.task = t.id LEFT JOIN charges c ON c.request = t.request`
const FILES = "SELECT id FROM stored_files WHERE purpose = 'result'"
const UNNEEDED = `SELECT DISTINCT p.task FROM task_request_parts p JOIN tasks t ON t.id = p.task
  WHERE t.state IN ('succeeded', 'failed')`

/** Broken rules, of those that hold for every task once none is open. */
const violationsOf = async (
  database: OpenDatabase,
  { tasks }: TaskUpstreamLog,
  creates: Creates,
): Promise<Pick<TaskKillOutcome, 'states' | 'images' | 'copies'> & { violations: string[] }> => {
  const violations = [...creates.refused]
  for (const { task } of await database.read(sql('kept requests', UNNEEDED), []))
    violations.push(`${task}: has ended, and its request is stored`)
  const rows = await database.read(sql('tasks', TASKS), [])
  const files = await database.read(sql('files', FILES), [])
  const fileIds = new Set(files.map(({ id }) => String(id)))
  const rowsById = new Map(rows.map(row => [String(row.id), row]))
  const upstreamByIntent = Map.groupBy(tasks, ({ intent }) => intent)
  for (const [intent, { length }] of [...upstreamByIntent].map(each => each))
    if (length > 1) violations.push(`${intent}: ${length} upstream creates`)
  for (const [intent, id] of creates.acknowledged)
    if (!rowsById.has(id)) violations.push(`${intent}: its task ${id} is not stored`)
  const chargeOf: Record<string, string> = {
    succeeded: 'settled',
    failed: 'released',
    unknown: 'open',
  }
  for (const row of rows) {
    const [id, state] = [String(row.id), String(row.state)]
    const intent = (JSON.parse(String(row.summary)) as { prompt: string }).prompt
    const [upstreamTask] = upstreamByIntent.get(intent) ?? []
    if (row.charge !== chargeOf[state]) violations.push(`${id}: ${state}, charge ${row.charge}`)
    if (state === 'succeeded' && row.amount !== row.held)
      violations.push(`${id}: charged ${row.amount} of ${row.held}`)
    if (state === 'succeeded' && (!upstreamTask || upstreamTask.fails))
      violations.push(`${id}: succeeded, and its upstream task did not`)
    for (const copy of JSON.parse(String(row.copies ?? '[]')) as readonly Copy[])
      if (!fileIds.delete(copy.file)) violations.push(`${id}: its copy ${copy.file} is not stored`)
    if (state === 'succeeded' && row.dialect === 'vidu' && row.copies === null)
      violations.push(`${id}: its result is not copied`)
    // The answer of a call whose process was killed is lost, and it is not sent again.
    if (Number(row.is_call) === 1) continue
    if (state === 'failed' && upstreamTask && !upstreamTask.fails)
      violations.push(`${id}: failed, and its upstream task succeeded`)
    if (state === 'failed' && !upstreamTask) violations.push(`${id}: failed, and was never sent`)
  }
  for (const id of fileIds) violations.push(`${id}: a stored file of no task`)
  for (const { id, imageSize } of tasks)
    if (imageSize !== 0 && imageSize !== IMAGE.length)
      violations.push(`${id}: its image came with ${imageSize} characters`)
  for (const { id, key, pollKeys } of tasks)
    if (pollKeys.some(each => each !== key)) violations.push(`${id}: polled with another key`)
  for (const { rule, subject, detail } of await audit(database))
    violations.push(`${rule}: ${subject}: ${detail}`)
  const states = Map.groupBy(rows, ({ state }) => String(state))
  return {
    violations,
    states: Object.fromEntries([...states].map(([state, all]) => [state, all.length])),
    images: tasks.filter(({ imageSize }) => imageSize > 0).length,
    copies: files.length,
  }
}

export const runTaskKills = async (options: TaskKillOptions): Promise<TaskKillOutcome> => {
  const { seed, report = () => {} } = options
  const upstream: ChildProcess = fork(new URL('./upstream.ts', import.meta.url), [`${seed}`], {
    execArgv: [],
  })
  process.once('exit', () => upstream.kill('SIGKILL'))
  const [{ port }] = (await once(upstream, 'message')) as [{ port: number }]
  const setup = await STORES[options.store]()
  const { gateways = 1 } = options
  const files = mkdtempSync(join(tmpdir(), 'tollgate-files-'))
  const environment = { EGRESS_ALLOW: '127.0.0.0/8' }
  const settings = { files: { store: `file:${files}` }, workers: gateways > 1 ? 1 : 2 }
  const trees = Array.from({ length: gateways }, () =>
    createTree(routesTo(port), setup.url, environment, {}, settings),
  )
  const [{ data, output }] = trees as [Tree]
  try {
    for (const tree of trees) await tree.start()
    const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(output())?.[1])
    const before = await setup.open(data)
    await giveCredit(before, 1, CREDIT)
    const rotatingKey = await createRotatingKey(before, 1)
    await before.close()
    let isOver = false
    const creates: Creates = { acknowledged: new Map(), unanswered: 0, refused: [] }
    const clients = Array.from({ length: CLIENTS }, (_, client) =>
      createTasks(trees[client % gateways] as Tree, key, client, creates, () => isOver),
    )
    const url = trees[0]?.url ?? (() => '')
    const batchClient = startBatches(url, key, () => isOver)
    const rotatingClient = callAndRotate(url, rotatingKey, () => isOver)
    const kills = await killAll(options, trees, setup)
    isOver = true
    await Promise.all(clients)
    const batches = await batchClient
    const secrets = await rotatingClient
    report(`${creates.acknowledged.size} tasks are created; waiting until none is open`)
    const reader = await setup.open(data)
    await eventually(async () => {
      const [tasks] = await reader.read(sql('open', OPEN), [])
      const [batchRow] = await reader.read(sql('open batches', OPEN_BATCHES), [])
      return Number(tasks?.open) + Number(batchRow?.open) === 0 || undefined
    }).catch(async error => {
      const rows = await reader.read(sql('stuck', STUCK), [])
      throw new Error(`tasks stay open: ${JSON.stringify(rows)}`, { cause: error })
    })
    await reader.close()
    for (const tree of trees) await tree.stop()
    const reply = once(upstream, 'message')
    upstream.send('log')
    const [{ log }] = (await reply) as [{ log: TaskUpstreamLog }]
    upstream.disconnect()
    const { database, close } = await setup.openLast(data)
    const { violations, ...counts } = await violationsOf(database, log, creates)
    violations.push(...(await batchViolations(database, batches)))
    violations.push(...(await quotaViolations(database, rotatingKey)))
    await close()
    const resumed: Record<string, number> = {}
    for (const { at, kind } of kills) {
      const next = log.polls.find(time => time > at + 20) ?? at
      resumed[kind] = Math.max(resumed[kind] ?? 0, next - at)
    }
    const kinds = Map.groupBy(kills, ({ kind }) => kind)
    return {
      kills: Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length])),
      ...counts,
      resumed,
      acknowledged: creates.acknowledged.size,
      batches: batches.length,
      secrets,
      unanswered: creates.unanswered,
      violations,
    }
  } finally {
    for (const tree of trees) {
      await tree.stop().catch(() => {})
      tree.remove()
    }
    rmSync(files, { recursive: true, force: true })
    await setup.end()
  }
}

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '6' },
      seed: { type: 'string', default: '1' },
      store: { type: 'string', default: 'sqlite' },
      gateways: { type: 'string', default: '1' },
    },
  })
  const print = (line: string): void =>
    void process.stdout.write(`${(performance.now() / 1_000).toFixed(1)} s ${line}\n`)
  const outcome = await runTaskKills({
    store: values.store as StoreName,
    kills: Number(values.kills),
    seed: Number(values.seed),
    gateways: Number(values.gateways),
    report: print,
  })
  for (const violation of outcome.violations) print(violation)
  print(JSON.stringify({ ...outcome, violations: outcome.violations.length }))
  process.exitCode = outcome.violations.length === 0 ? 0 : 1
}
if (import.meta.main) await main()

/** The operations on tasks. The plugin `task` does the work. */
import { textOf, UsageError } from '../../../engine/cli/kit.ts'
import { object, oneOf, required, text } from '../../../engine/config/shape.ts'
import type { HostBase } from '../../../engine/plugin.ts'
import { ACCOUNT_BY_ID } from '../../credentials/statements.ts'
import { PAUSE_COLUMNS, TASK_COLUMNS, TASK_STATES, TASK_VIEW } from '../../rows/work.ts'
import { list as listOf, object as row } from '../../shapes.ts'
import { subcommandsOf } from '../command-line.ts'
import { partOf, type TaskPart, type TaskSummary } from '../contributions.ts'
import { type Context, type Operation, operation } from '../operation.ts'

const TASK = required(text('The id of the task.', { maxLength: 128 }))
const ONLY_TASK = object(undefined, { task: TASK })
const { account_name: _, ...SUMMARY_COLUMNS } = TASK_COLUMNS
const SUMMARY = row(SUMMARY_COLUMNS)
const summaryRow = (task: TaskSummary) => ({ rows: [task] })

const list = operation({
  name: 'tasks list',
  summary: 'Lists the latest tasks, newest first.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, { state: oneOf(`${TASK_STATES.join(', ')}.`, TASK_STATES) }),
  result: listOf(row(TASK_COLUMNS)),
  command: {
    example: 'tollgate tasks list --state unknown',
    options: {
      state: {
        type: 'string',
        value: 'STATE',
        summary: `only tasks in this state: ${TASK_STATES.join(', ')}`,
      },
    },
    read({ values }) {
      const word = textOf(values.state)
      if (word === undefined) return {}
      const state = TASK_STATES.find(each => each === word)
      if (state !== undefined) return { state }
      throw new UsageError(`--state must be one of ${TASK_STATES.join(', ')}`)
    },
    print: tasks => ({
      rows: tasks.map(({ account_name: _, ...cells }) => cells),
    }),
  },
  async run({ host, store }, { state = null }) {
    const tasks = await partOf(host, 'tasks').list(host, state)
    const ids = [...new Set(tasks.map(({ account }) => account))]
    const accounts = await Promise.all(ids.map(id => store.read(ACCOUNT_BY_ID, [id])))
    const names = new Map(accounts.flat().map(({ id, name }) => [Number(id), String(name)]))
    return { data: tasks.map(task => ({ ...task, account_name: names.get(task.account) ?? null })) }
  },
})

const show = operation({
  name: 'tasks show',
  summary: 'Shows one task with its request, its results and its hold.',
  scope: 'operator',
  reads: true,
  reveals: ({ task }) => `task ${task}`,
  arguments: ONLY_TASK,
  result: TASK_VIEW,
  command: {
    arguments: 'ID',
    example: 'tollgate tasks show 911088422699962368',
    print: task => ({ text: JSON.stringify(task, null, 2), json: task }),
  },
  run: async ({ host }, { task }) => ({ data: await partOf(host, 'tasks').show(host, task) }),
})

/** An operation on one task, which it returns. */
const change = (
  verb: 'retry' | 'cancel',
  summary: string,
  run: (part: TaskPart, context: Context, id: string) => Promise<TaskSummary>,
): Operation =>
  operation({
    name: `tasks ${verb}`,
    summary,
    scope: 'operator',
    arguments: ONLY_TASK,
    result: SUMMARY,
    command: {
      arguments: 'ID',
      example: `tollgate tasks ${verb} 911088422699962368`,
      print: summaryRow,
    },
    run: async (context, { task }) => ({
      data: await run(partOf(context.host, 'tasks'), context, task),
    }),
  })

const pause = (verb: 'pause' | 'resume', summary: string): Operation =>
  operation({
    name: `tasks ${verb}`,
    summary,
    scope: 'operator',
    arguments: object(undefined, {
      upstream: required(text('The name of the upstream.', { maxLength: 200 })),
    }),
    result: listOf(row(PAUSE_COLUMNS)),
    command: {
      arguments: 'UPSTREAM',
      example: `tollgate tasks ${verb} vd`,
    },
    run: async (context, { upstream }) => ({
      data: await partOf(context.host, 'tasks')[verb](context, upstream),
    }),
  })

const resolve = operation({
  name: 'tasks resolve',
  summary:
    'Ends a task in the state unknown: charges it, or releases its hold. Also charges one that failed because it stayed unknown.',
  scope: 'operator',
  arguments: object(undefined, {
    task: TASK,
    outcome: required(
      oneOf(
        'charge: the upstream ran it; refund: it did not; retry: submit it again, which may run it twice.',
        ['charge', 'refund', 'retry'],
      ),
    ),
  }),
  result: SUMMARY,
  command: {
    arguments: 'ID',
    example: 'tollgate tasks resolve 911088422699962368 --refund',
    options: {
      charge: { type: 'boolean', summary: 'the upstream ran the task: charge it' },
      refund: { type: 'boolean', summary: 'the upstream did not run the task: release its hold' },
    },
    read({ positionals: [task = ''], values: { charge, refund } }) {
      if (Boolean(charge) === Boolean(refund))
        throw new UsageError('use either --charge or --refund')
      const outcome: 'charge' | 'refund' = charge ? 'charge' : 'refund'
      return { task, outcome }
    },
    print: summaryRow,
  },
  async run(context, { task, outcome }) {
    const part = partOf(context.host, 'tasks')
    if (outcome === 'retry') return { data: await part.retry(context, task) }
    return { data: await part.resolve(context, task, outcome === 'charge') }
  },
})

/** In the order of the help. */
export const taskOperations: readonly Operation[] = [
  list,
  show,
  change(
    'retry',
    'Submits a task in the state unknown again. The upstream may then run it twice.',
    (part, context, id) => part.retry(context, id),
  ),
  change(
    'cancel',
    'Cancels a task that is not submitted yet. It is not charged.',
    (part, context, id) => part.cancel(context, id),
  ),
  pause(
    'pause',
    'Submits no more tasks to an upstream; those that it has are polled on. Lists the paused upstreams.',
  ),
  pause(
    'resume',
    'Submits tasks to a paused upstream again. Lists the upstreams that are still paused.',
  ),
  resolve,
]

/** `prepare`: lets the operations run in a command. */
export const taskCommands = (prepare: (host: HostBase) => void) => ({
  tasks: {
    summary: 'Shows tasks, and resolves those in the state unknown.',
    subcommands: subcommandsOf(taskOperations, prepare),
  },
})

/** The operations on batches of all accounts. The plugin `batches` does the work. */
import { textOf, UsageError } from '../../../engine/cli/kit.ts'
import { object, oneOf, required, text } from '../../../engine/config/shape.ts'
import { BATCH_COLUMNS, BATCH_STATES } from '../../rows/work.ts'
import { fields, list as listOf, object as row } from '../../shapes.ts'
import { ANY_ACCOUNT } from '../arguments.ts'
import { partOf } from '../contributions.ts'
import { type Operation, operation } from '../operation.ts'

const ONLY_BATCH = object(undefined, {
  batch: required(text('The id of the batch.', { maxLength: 128 })),
})

const list = operation({
  name: 'batches list',
  summary: 'Lists batches, newest first: at most 100.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, {
    account: ANY_ACCOUNT,
    state: oneOf(`${BATCH_STATES.join(', ')}.`, BATCH_STATES),
  }),
  result: listOf(row(BATCH_COLUMNS)),
  command: {
    example: 'tollgate batches list --account ann --state in_progress',
    options: {
      account: { type: 'string', value: 'NAME', summary: 'only batches of this account' },
      state: {
        type: 'string',
        value: 'STATE',
        summary: `only batches in this state: ${BATCH_STATES.join(', ')}`,
      },
    },
    read({ values }) {
      const [account, word] = [textOf(values.account), textOf(values.state)]
      const state = BATCH_STATES.find(each => each === word)
      if (word !== undefined && state === undefined)
        throw new UsageError(`--state must be one of ${BATCH_STATES.join(', ')}`)
      return { ...(account !== undefined && { account }), ...(state !== undefined && { state }) }
    },
  },
  run: async ({ host }, filter) => ({ data: await partOf(host, 'batches').list(host, filter) }),
})

const show = operation({
  name: 'batches show',
  summary: 'Shows one batch, as its customer sees it.',
  scope: 'operator',
  reads: true,
  arguments: ONLY_BATCH,
  result: row({ ...BATCH_COLUMNS, batch: fields }),
  command: {
    arguments: 'ID',
    example: 'tollgate batches show batch_6f1d0a3c9b7e4d2f8a5c1e0b3d7f9a24',
    print: batch => ({ text: JSON.stringify(batch, null, 2), json: batch }),
  },
  run: async ({ host }, { batch }) => ({ data: await partOf(host, 'batches').show(host, batch) }),
})

const cancel = operation({
  name: 'batches cancel',
  summary: 'Cancels a batch: requests under way end and are charged, no other is sent.',
  scope: 'operator',
  arguments: ONLY_BATCH,
  result: row(BATCH_COLUMNS),
  command: {
    arguments: 'ID',
    example: 'tollgate batches cancel batch_6f1d0a3c9b7e4d2f8a5c1e0b3d7f9a24',
    print: batch => ({ rows: [batch] }),
  },
  run: async (context, { batch }) => ({
    data: await partOf(context.host, 'batches').cancel(context, batch),
  }),
})

/** In the order of the help. */
export const batchOperations: readonly Operation[] = [list, show, cancel]

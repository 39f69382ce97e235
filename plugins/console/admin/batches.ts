/** Endpoints of operators for batches: list, show and cancel those of all accounts. */
import type { HostBase } from '../../../engine/plugin.ts'
import { operatorParts } from '../../operator/contributions.ts'
import { fields, integer, list as listOf, object, oneOf, text, time } from '../../shapes.ts'
import { fault } from '../faults.ts'
import { type AdminEndpoints, bodyOf, choiceIn, textIn } from './endpoint.ts'

const STATES =
  'validating in_progress finalizing cancelling completed failed cancelled expired'.split(' ')

const batchPartOf = (host: HostBase) => {
  const { batches } = operatorParts(host)
  if (!batches) throw fault('ADMIN_NO_BATCHES')
  return batches
}

const COLUMNS = {
  id: text,
  account: integer,
  account_name: text,
  endpoint: text,
  state: oneOf(...STATES),
  total: integer,
  completed: integer,
  failed: integer,
  created: time,
  expires: time,
  error: text,
}
const ROW = object(COLUMNS)

export const batchEndpoints: AdminEndpoints = {
  'GET batches': {
    summary: 'Lists the latest batches of all accounts, newest first.',
    query: { account: 'Name or number of an account', state: STATES.join(', ') },
    data: listOf(ROW),
    async run({ query }, host) {
      const account = textIn(query, 'account')
      const state = choiceIn(query, 'state', STATES, undefined)
      return { data: await batchPartOf(host).list(host, { account, state }) }
    },
  },
  'GET batches/show': {
    summary: 'Shows one batch, as its customer sees it.',
    query: { batch: 'The id of the batch' },
    data: object({ ...COLUMNS, batch: fields }),
    async run({ query }, host) {
      return { data: await batchPartOf(host).show(host, textIn(query, 'batch') ?? '') }
    },
  },
  'POST batches/cancel': {
    summary: 'Cancels a batch: requests under way end and are charged, no other is sent.',
    body: bodyOf({ batch: { type: 'string', maxLength: 128 } }, ['batch']),
    data: ROW,
    async run({ body }, host) {
      const part = batchPartOf(host)
      const id = String(body.batch)
      const { batch: _, ...before } = await part.show(host, id)
      const after = await part.cancel(host, id)
      return { data: after, change: { before, after } }
    },
  },
}

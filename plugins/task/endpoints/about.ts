/** Descriptions of routes with tasks for clients. */
import type { RouteDescription } from '../../../engine/plugin.ts'
import { OWN_TASK } from '../../rows/work.ts'
import {
  between,
  binary,
  boolean,
  constant,
  described,
  envelopeOf,
  integer,
  json,
  list,
  nullable,
  object,
  oneOf,
  query,
  text,
} from '../../shapes.ts'
import { taskDialects } from '../dialects/index.ts'
import type { TaskSchemas } from '../dialects/schemas.ts'
import type { Options } from '../options.ts'
import { type AccountOptions, isAccountView } from './account-options.ts'

const callState = object({
  id: text,
  object: constant('task'),
  status: oneOf('queued', 'in_progress'),
  model: text,
  created_at: integer,
})
const PREFER = {
  name: 'prefer',
  in: 'header',
  description: 'respond-async: the answer is 202 and the address of the result',
  schema: text,
} as const
const wait = query(
  'wait',
  'Seconds that the answer waits for a change, from 1 to 60',
  between(1, 60),
)

/** By `view`. */
const VIEWS: Readonly<Record<string, (schemas: TaskSchemas) => RouteDescription>> = {
  query: schemas => ({
    summary: 'Shows a task, its state and its results',
    responses: json(schemas.query),
    parameters: [wait],
  }),
  list: schemas => ({
    summary: 'Lists the tasks of the account',
    responses: json(schemas.list),
    parameters: schemas.paging,
  }),
  queue: schemas => ({
    summary: 'Lists the unfinished tasks of the account',
    responses: json(schemas.list),
  }),
  cancel: schemas => ({
    summary: 'Cancels a task that has not begun',
    responses: json(schemas.cancelled),
  }),
  speed: schemas => ({
    summary: 'Shows how busy the modes are',
    responses: json(schemas.speed ?? {}),
  }),
  content: () => ({
    summary: 'Sends a file of the result of a task',
    responses: { '*/*': binary },
    parameters: [query('variant', 'Another form of the result: thumbnail or spritesheet')],
  }),
  delete: schemas => ({
    summary: 'Deletes a finished task, and cancels one that has not begun',
    responses: json(schemas.deleted ?? {}),
  }),
  remix: schemas => ({
    summary: 'Refuses: no upstream changes finished results',
    responses: json(schemas.create),
  }),
}

export const ACCOUNT_VIEWS: Readonly<Record<AccountOptions['view'], RouteDescription>> = {
  'account-list': {
    summary: 'Lists the tasks of the account, whichever route created them',
    responses: json(envelopeOf(list(OWN_TASK), { next: nullable(text) })),
    parameters: [
      query('state', 'Only these', oneOf('open', 'succeeded', 'failed')),
      query('cursor', '`next` of the page before'),
    ],
  },
  'account-events': {
    summary: 'Reports changes of the tasks of the account as they happen',
    responses: { 'text/event-stream': described('Events with the changed rows', text) },
  },
  'account-content': {
    summary: 'Sends a file of the result of a task',
    responses: { '*/*': binary },
  },
  'account-task': {
    summary: 'Shows a task of the account',
    responses: json(envelopeOf(OWN_TASK)),
  },
  'account-cancel': {
    summary: 'Cancels a task of the account that has not begun',
    responses: json(envelopeOf(OWN_TASK)),
  },
}

export const describeTasks = (options: Options): RouteDescription => {
  if ('call' in options)
    return {
      alternatives: { 202: callState },
      parameters: options.when === 'always' ? [] : [PREFER],
    }
  if (!('view' in options))
    return {
      summary: 'Creates a task, which is queried for its result',
      responses: json(taskDialects[options.dialect].schemas.create),
    }
  if (options.view === 'reply')
    return {
      summary: 'Answers with the response of a call that ran as a task, once it is there',
      responses: json(described('The response of the call', {})),
      alternatives: { 202: callState },
    }
  if (options.view === 'changed')
    return {
      summary: 'Takes the announcement of an upstream that a task has changed',
      responses: json(object({ ok: boolean })),
    }
  if (isAccountView(options)) return ACCOUNT_VIEWS[options.view]
  return VIEWS[options.view]?.(taskDialects[options.dialect].schemas) ?? {}
}

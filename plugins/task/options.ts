/** `task:` of a route: the JSON Schema, and the options as the runner uses them. */
import { amountIn, DURATIONS } from '../../engine/kit.ts'
import { CALL_SCHEMA, type CallOptions, REPLY_SCHEMA, type ReplyOptions } from './calls/options.ts'
import {
  dialectNames,
  queueDialectNames,
  type ResultDialectName,
  resultDialectNames,
  type TaskDialectName,
  taskDialects,
} from './dialects/index.ts'
import { ACCOUNT_SCHEMA, type AccountOptions } from './endpoints/account-options.ts'
import { CHANGE_SCHEMA, type ChangeOptions } from './endpoints/change-notices.ts'
import { ID_PLACE, type MemberPlaces, POINTER } from './pointer.ts'
import type { State } from './task.ts'

/** As the schema accepts it. */
export interface CreateOptions {
  readonly dialect: TaskDialectName
  readonly upstreams?: readonly string[]
  readonly submit: {
    readonly id: string
    readonly path?: string
    readonly body?: MemberPlaces
    readonly with?: Readonly<
      Record<string, { readonly path?: string; readonly body?: MemberPlaces }>
    >
    readonly results?: string
    readonly own_id?: string
    readonly callback?: string
    readonly code?: string
    readonly codes?: Readonly<Record<string, SubmitOutcome>>
    readonly refused?: readonly (string | number)[]
  }
  readonly find?: { readonly path: string; readonly id: string; readonly absent?: number }
  readonly poll: {
    readonly path: string
    readonly every?: string
    readonly deadline?: string | Readonly<Record<string, string>>
    readonly state: string
    readonly states: Readonly<Record<string, PolledState>>
    readonly progress?: string
    readonly error?: { readonly code?: string; readonly message?: string }
    readonly results: string
    readonly results_path?: string
    readonly details?: Readonly<Record<string, string>>
    readonly usage?: Readonly<Record<string, string>>
    readonly empty?: 'failed' | 'succeeded'
  }
  readonly variants?: Readonly<Record<string, string>>
  readonly cancel?: { readonly path: string }
  readonly idempotency?: string
  readonly results?: 'link' | 'copy' | 'refresh'
  readonly wait?: string
  readonly open?: number
  readonly mode?: string
  readonly running?: number
  readonly late?: readonly string[]
  readonly unknown_after?: string
  readonly keep?: string
}
type PolledState = Extract<State, 'submitted' | 'running' | 'succeeded' | 'failed'>
/** `again`: the upstream is busy, and the task is submitted again later. */
export type SubmitOutcome = 'submitted' | 'again' | 'failed'
export type ViewName = 'query' | 'list' | 'queue' | 'cancel'
export interface ViewOptions {
  readonly dialect: TaskDialectName
  readonly view: ViewName
}
interface SpeedOptions {
  readonly dialect: (typeof queueDialectNames)[number]
  readonly view: 'speed'
}
export interface ResultViewOptions {
  readonly dialect: ResultDialectName
  readonly view: 'content' | 'delete' | 'remix'
}
export type Options =
  | CreateOptions
  | ViewOptions
  | ResultViewOptions
  | SpeedOptions
  | CallOptions
  | ReplyOptions
  | ChangeOptions
  | AccountOptions

const RESULT_VIEWS = ['content', 'delete', 'remix']
export const isResultView = (
  options: ViewOptions | ResultViewOptions,
): options is ResultViewOptions => RESULT_VIEWS.includes(options.view)

/** `GET /tasks/{id}`: `{id}` is the upstream's id, `{task}` that of the task. */
export interface Call {
  readonly method: string
  readonly path: string
}
/** Undefined members: as in the request. */
interface SubmitRule {
  readonly path: string | undefined
  readonly body: MemberPlaces | undefined
}
export interface TaskRule {
  readonly dialect: TaskDialectName
  /** The upstreams that these calls are for; undefined: any. */
  readonly upstreams: ReadonlySet<string> | undefined
  readonly submit: SubmitRule & {
    readonly id: string
    /** For requests that have this member; the first counts. */
    readonly with: readonly (readonly [member: string, rule: SubmitRule])[]
    /** Where the answer has the results, if it may have them at once. */
    readonly results: string | undefined
    /** Where the request gets the id of the task, and the address that announces changes. */
    readonly ownId: string | undefined
    readonly callback: string | undefined
    /** Where the answer has its code, and what codes mean: see `submitOutcome`. */
    readonly code: string | undefined
    readonly codes: ReadonlyMap<string, SubmitOutcome>
    /** What answers from 500 on say that nothing was created: those with a value at a place, and
     *  those of a status. */
    readonly refused: readonly (string | number)[]
  }
  /** How a submit whose answer was lost is found by the id of the task. */
  readonly find:
    | {
        readonly call: Call
        readonly id: string
        /** The status by which the upstream says that it has no such task. */
        readonly absent: number | undefined
      }
    | undefined
  readonly poll: {
    readonly call: Call
    /** ms between two polls: the first, and the longest after doubling. */
    readonly first: number
    readonly longest: number
    /** ms from the create; `deadlines`: for requests with this member set to true. */
    readonly deadline: number
    readonly deadlines: readonly (readonly [member: string, ms: number])[]
    readonly state: string
    readonly states: ReadonlyMap<string, PolledState>
    readonly progress: string | undefined
    readonly error: { readonly code: string | undefined; readonly message: string | undefined }
    readonly results: string
    /** The call whose answer has the results, if not the poll. */
    readonly resultsCall: Call | undefined
    /** Members of the first result, and where the answer has them. */
    readonly details: readonly (readonly [name: string, pointer: string])[]
    /** Meters and attributes of the price, and where the answer has them. */
    readonly usage: readonly (readonly [name: string, pointer: string])[]
    /** Whether a task that succeeded without a result fails. */
    readonly needsResult: boolean
  }
  /** Other forms of the result -> where the result has their URL. */
  readonly variants: ReadonlyMap<string, string>
  readonly cancel: Call | undefined
  /** Header that makes a repeated submit harmless at this upstream. */
  readonly idempotency: string | undefined
  /** Whether the files of results are copied into the file store. */
  readonly copies: boolean
  /** Whether the upstream is asked again for links before they expire. */
  readonly refreshes: boolean
  /** ms that a create waits for the end of its task. */
  readonly wait: number
  readonly open: number | undefined
  /** The group of tasks that shares `running`; see modes/modes.ts. */
  readonly mode: string | undefined
  readonly running: number | undefined
  /** ms from the deadline: polls of tasks that have failed by it, in order. */
  readonly late: readonly number[]
  /** ms after which a task in the state `unknown` fails; undefined: an operator decides. */
  readonly unknownAfter: number | undefined
  /** ms that a finished task is kept. */
  readonly keep: number
}

const TIME = /^([1-9][0-9]{0,4})(ms|s|m|h|d)$/
const INTERVALS = /^([1-9][0-9]{0,4}(?:ms|s|m|h))(?:\.\.([1-9][0-9]{0,4}(?:ms|s|m|h)))?$/
const CALL = /^(GET|POST|PUT|DELETE) (\/\S*)$/
/** `unknown_after` of tasks that an operator decides. */
const HOLD = 'hold'
const DEFAULTS = {
  every: '2s..20s',
  deadline: '30m',
  keep: '30d',
  late: ['5m', '1h', '24h'],
  unknown: '1h',
  variants: { video: '/url' },
}

const callOf = (text: string): Call => {
  const [, method = 'GET', path = '/'] = CALL.exec(text) ?? []
  return { method, path }
}
export const ruleOf = (options: CreateOptions): TaskRule => {
  const { poll } = options
  const [, first = '2s', longest = first] = INTERVALS.exec(poll.every ?? DEFAULTS.every) ?? []
  return {
    dialect: options.dialect,
    upstreams: options.upstreams && new Set(options.upstreams),
    submit: {
      id: options.submit.id,
      ...submitRuleOf(options.submit),
      with: Object.entries(options.submit.with ?? {}).map(
        ([member, rule]) => [member, submitRuleOf(rule)] as const,
      ),
      results: options.submit.results,
      ownId: options.submit.own_id,
      callback: options.submit.callback,
      code: options.submit.code,
      codes: new Map(Object.entries(options.submit.codes ?? {})),
      refused: options.submit.refused ?? taskDialects[options.dialect].refusals,
    },
    find: options.find && {
      call: callOf(options.find.path),
      id: options.find.id,
      absent: options.find.absent,
    },
    poll: {
      call: callOf(poll.path),
      first: amountIn(first, DURATIONS),
      longest: amountIn(longest, DURATIONS),
      ...deadlinesOf(poll.deadline),
      state: poll.state,
      states: new Map(Object.entries(poll.states)),
      progress: poll.progress,
      error: { code: poll.error?.code, message: poll.error?.message },
      results: poll.results,
      resultsCall: poll.results_path === undefined ? undefined : callOf(poll.results_path),
      details: Object.entries(poll.details ?? {}),
      usage: Object.entries(poll.usage ?? {}),
      needsResult: poll.empty !== 'succeeded',
    },
    variants: new Map(Object.entries({ ...DEFAULTS.variants, ...options.variants })),
    cancel: options.cancel && callOf(options.cancel.path),
    idempotency: options.idempotency?.toLowerCase(),
    copies: options.results === 'copy',
    refreshes: options.results === 'refresh',
    wait: options.wait === undefined ? 0 : amountIn(options.wait, DURATIONS),
    open: options.open,
    mode: options.mode,
    running: options.running,
    late: (options.late ?? DEFAULTS.late)
      .map(text => amountIn(text, DURATIONS))
      .toSorted((one, other) => one - other),
    unknownAfter:
      options.unknown_after === HOLD
        ? undefined
        : amountIn(options.unknown_after ?? DEFAULTS.unknown, DURATIONS),
    keep: amountIn(options.keep ?? DEFAULTS.keep, DURATIONS),
  }
}

const submitRuleOf = ({ path, body }: Partial<SubmitRule>): SubmitRule => ({ path, body })
const deadlinesOf = (
  deadline: CreateOptions['poll']['deadline'],
): Pick<TaskRule['poll'], 'deadline' | 'deadlines'> => {
  const { default: usual = DEFAULTS.deadline, ...members } =
    typeof deadline === 'string' ? { default: deadline } : (deadline ?? {})
  const deadlines = Object.entries(members).map(
    ([member, time]) => [member, amountIn(time, DURATIONS)] as const,
  )
  return { deadline: amountIn(usual, DURATIONS), deadlines }
}
/** ms that a task of this request may take. */
export const deadlineFor = (body: Readonly<Record<string, unknown>>, { poll }: TaskRule): number =>
  poll.deadlines.find(([member]) => body[member] === true)?.[1] ?? poll.deadline

const pointer = (description: string, example: string) => ({
  description,
  type: 'string',
  pattern: POINTER,
  examples: [example],
})
const call = (description: string, example: string) => ({
  description,
  type: 'string',
  pattern: CALL.source,
  examples: [example],
})
const time = (description: string, example: string) => ({
  description,
  type: 'string',
  pattern: TIME.source,
  default: example,
  examples: [example],
})
const object = (description: string, required: readonly string[], properties: object) => ({
  description,
  type: 'object',
  ...(required.length > 0 && { required }),
  additionalProperties: false,
  properties,
  examples: [{}],
})
const dialect = {
  description: 'How requests and answers look to the customer.',
  enum: dialectNames,
  examples: [dialectNames[0]],
}

const SUBMIT = {
  path: {
    description: 'Path at the upstream, if not the path of the request.',
    type: 'string',
    pattern: '^/',
    examples: ['/v1/videos'],
  },
  body: {
    description:
      'The body at the upstream, if not the request: its members, and where the request has their values.',
    type: 'object',
    minProperties: 1,
    additionalProperties: {
      description: 'A place, or a list of places that makes a list of the values that are there.',
      anyOf: [
        pointer('Where the request has the value.', '/prompt'),
        {
          description: 'Where the request has the items.',
          type: 'array',
          minItems: 1,
          items: pointer('Where the request has the item.', '/input_reference/image_url'),
          examples: [['/input_reference/image_url']],
        },
      ],
      examples: ['/prompt', ['/input_reference/image_url']],
    },
    examples: [{ prompt: '/prompt', images: ['/input_reference/image_url'] }],
  },
}
const CREATE = object('The route creates tasks.', ['dialect', 'submit', 'poll'], {
  dialect,
  upstreams: {
    description:
      'The upstreams that answer these calls; models without such a target are not served here.',
    type: 'array',
    minItems: 1,
    uniqueItems: true,
    items: { description: 'The name of an upstream.', type: 'string', examples: ['vd'] },
    examples: [['vd']],
  },
  submit: object('The call that starts the work.', ['id'], {
    id: {
      description:
        'Where the answer has the id of the upstream: a JSON Pointer, or header:NAME; of an address there the last part of its path.',
      type: 'string',
      pattern: ID_PLACE,
      examples: ['/task_id', 'header:Location'],
    },
    ...SUBMIT,
    with: {
      description: 'Another path and body for requests that have a member; the first one counts.',
      type: 'object',
      minProperties: 1,
      additionalProperties: object('For requests with this member.', [], SUBMIT),
      examples: [{ input_reference: { path: '/ent/v2/img2video' } }],
    },
    results: pointer(
      'Where the answer has the results if the work is finished by then.',
      '/file_url',
    ),
    own_id: pointer('Where the request gets the id of the task.', '/client_request_id'),
    callback: pointer(
      'Where the request gets the address at which the upstream announces a change: the task is polled then.',
      '/callback_url',
    ),
    code: pointer('Where the answer has a code that decides, if its status does not.', '/code'),
    codes: {
      description:
        'What the codes mean: submitted, again (the upstream is busy) or failed; default is every other code.',
      type: 'object',
      additionalProperties: {
        description: 'The meaning of a code.',
        enum: ['submitted', 'again', 'failed'],
        examples: ['submitted'],
      },
      examples: [{ 1: 'submitted', 23: 'again', default: 'failed' }],
    },
    refused: {
      description:
        "What shows that an answer from 500 on comes from the provider and that it has created nothing: a status, or a place that has a value in the provider's own errors. By default the place of the provider's code. After other such answers the task is unknown.",
      type: 'array',
      items: {
        description: 'A status, or a place in the answer.',
        anyOf: [
          pointer('A place that has a value.', '/reason'),
          {
            description: 'A status.',
            type: 'integer',
            minimum: 500,
            maximum: 599,
            examples: [500],
          },
        ],
        examples: ['/reason', 500],
      },
      examples: [['/reason']],
    },
  }),
  find: object(
    'The call that finds a submitted task by its own id, after the answer was lost. A successful answer without the id of the upstream, five times in a row, means that the submit is repeated; a failed call does not.',
    ['path', 'id'],
    {
      path: call(
        'Method and path; {task} is the id of the task.',
        'GET /tasks?client_request_id={task}',
      ),
      id: pointer('Where the answer has the id of the upstream.', '/tasks/0/id'),
      absent: {
        description:
          'Another status by which the upstream says that it has no such task. A wrong path has status 404, too.',
        type: 'integer',
        minimum: 400,
        maximum: 499,
        examples: [404],
      },
    },
  ),
  poll: object('The call that asks how far it is.', ['path', 'state', 'states', 'results'], {
    path: call('Method and path; {id} is the id of the upstream.', 'GET /tasks/{id}'),
    every: {
      description: 'Time between two polls: the first, and the longest, to which it doubles.',
      type: 'string',
      pattern: INTERVALS.source,
      default: DEFAULTS.every,
      examples: [DEFAULTS.every],
    },
    deadline: {
      description:
        'Time after which an unfinished task fails: one time, or default and members of the request that change it where they are true.',
      anyOf: [
        time('For every task.', DEFAULTS.deadline),
        {
          description: 'By members of the request.',
          type: 'object',
          additionalProperties: time('For requests with this member.', '48h'),
          examples: [{ default: '30m', off_peak: '48h' }],
        },
      ],
      examples: [DEFAULTS.deadline, { default: '30m', off_peak: '48h' }],
    },
    state: pointer('Where the answer has the state.', '/state'),
    states: {
      description: 'What the states of the upstream mean. Other values change nothing.',
      type: 'object',
      additionalProperties: {
        description: 'A state of tasks.',
        enum: ['submitted', 'running', 'succeeded', 'failed'],
        examples: ['succeeded'],
      },
      examples: [{ success: 'succeeded' }],
    },
    progress: pointer('Where the answer has the progress: 45, "45" or "45%".', '/progress'),
    error: object('Where the answer of a failed task has its reason.', [], {
      code: pointer('The code.', '/err_code'),
      message: pointer('The text.', '/message'),
    }),
    results: pointer('Where the results stand: a URL, an object, or a list of them.', '/creations'),
    results_path: call(
      'Method and path of the call whose answer has the results, if not the poll.',
      'GET /tasks/{id}/result',
    ),
    details: {
      description: 'More members of the first result, and where the answer has them.',
      type: 'object',
      additionalProperties: pointer('Where the member stands.', '/promptEn'),
      examples: [{ promptEn: '/promptEn' }],
    },
    usage: {
      description:
        'Where the answer of a finished task says what was made: meters of the price (seconds, images, output, …), and attributes that it depends on (resolution, quality, …). They are charged before what the request ordered; a meter that neither has is charged at its bound.',
      type: 'object',
      propertyNames: { pattern: '^[a-z][a-z0-9_]{0,63}$' },
      additionalProperties: pointer('Where the number or the value stands.', '/duration'),
      examples: [{ seconds: '/duration', resolution: '/resolution' }],
    },
    empty: {
      description:
        'What a task is that the upstream finished without a result; a failed one is not charged.',
      enum: ['failed', 'succeeded'],
      default: 'failed',
      examples: ['succeeded'],
    },
  }),
  variants: {
    description: 'Other forms of a result that clients may download, and where it has their URLs.',
    type: 'object',
    minProperties: 1,
    additionalProperties: pointer('Where the result has the URL.', '/cover_url'),
    default: DEFAULTS.variants,
    examples: [{ thumbnail: '/cover_url' }],
  },
  cancel: object('The call that cancels it.', ['path'], {
    path: call('Method and path; {id} is the id of the upstream.', 'POST /tasks/{id}/cancel'),
  }),
  idempotency: {
    description: 'The header by which the upstream recognises a repeated submit, if it has one.',
    type: 'string',
    pattern: '^[A-Za-z][A-Za-z0-9-]*$',
    examples: ['Idempotency-Key'],
  },
  results: {
    description:
      "What customers get: the upstream's links; with refresh, links that it is asked for again before they expire; or signed URLs of copies in the file store, each valid for 24 hours. Copies are kept as long as the task.",
    enum: ['link', 'refresh', 'copy'],
    default: 'link',
    examples: ['copy'],
  },
  wait: {
    ...time('Time that a create waits for the end of its task before it answers.', '55s'),
    default: '0s',
  },
  open: {
    description: 'Unfinished tasks that an account may have; another create is refused.',
    type: 'integer',
    minimum: 1,
    examples: [5],
  },
  mode: {
    description:
      'The name of the group whose limit the tasks share; the name of the route where only running is set.',
    type: 'string',
    minLength: 1,
    examples: ['fast'],
  },
  running: {
    description:
      'Tasks of the mode that the upstream has at once, over all workers and machines; more wait.',
    type: 'integer',
    minimum: 1,
    examples: [12],
  },
  late: {
    description:
      'Times after the deadline at which a task that has failed by it is polled again. If the upstream has finished it, it succeeds and is charged.',
    type: 'array',
    items: time('A time after the deadline.', '1h'),
    default: DEFAULTS.late,
    examples: [DEFAULTS.late],
  },
  unknown_after: {
    description:
      'Time after which a task fails, and its hold is released, where it is unknown whether the upstream got it; hold keeps it until an operator decides.',
    type: 'string',
    pattern: `${TIME.source}|^${HOLD}$`,
    default: DEFAULTS.unknown,
    examples: [DEFAULTS.unknown, HOLD],
  },
  keep: time('How long a finished task can be queried.', DEFAULTS.keep),
})
const VIEW = object('The route shows or cancels tasks.', ['dialect', 'view'], {
  dialect,
  view: {
    description: 'What the route does.',
    enum: ['query', 'list', 'cancel'],
    examples: ['query'],
  },
})
const QUEUE_VIEW = object('The route shows the queue.', ['dialect', 'view'], {
  dialect: { ...dialect, enum: queueDialectNames, examples: queueDialectNames },
  view: {
    description: 'The unfinished tasks of the account, or how busy the modes are.',
    enum: ['queue', 'speed'],
    examples: ['queue', 'speed'],
  },
})
const RESULT_VIEW = object('The route works on the result of a task.', ['dialect', 'view'], {
  dialect: { ...dialect, enum: resultDialectNames, examples: resultDialectNames },
  view: {
    description:
      'content: sends a file of the result; delete: deletes a finished task, and cancels one that has not begun; remix: refuses, because no upstream changes finished results.',
    enum: RESULT_VIEWS,
    examples: ['content'],
  },
})
export const SCHEMA = {
  description: 'The route creates durable tasks, or shows them.',
  anyOf: [
    CREATE,
    CHANGE_SCHEMA,
    CALL_SCHEMA,
    VIEW,
    QUEUE_VIEW,
    RESULT_VIEW,
    REPLY_SCHEMA,
    ACCOUNT_SCHEMA,
  ],
  examples: [{ dialect: dialectNames[0], view: 'query' }],
}

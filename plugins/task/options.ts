/** `task:` of a route: the shapes of its options, and the options as the runner uses them. */
import {
  anyOf,
  duration,
  integer,
  list,
  map,
  object,
  objectOfDefaults,
  oneOf,
  orElse,
  parsed,
  type RawOf,
  required,
  TIME,
  text,
} from '../../engine/config/shape.ts'
import { amountIn, DURATIONS } from '../../engine/kit.ts'
import { CALL, REPLY } from './calls/options.ts'
import {
  dialectNames,
  queueDialectNames,
  resultDialectNames,
  taskDialects,
} from './dialects/index.ts'
import { ACCOUNT } from './endpoints/account-options.ts'
import { CHANGE } from './endpoints/change-notices.ts'
import { ID_PLACE, POINTER } from './pointer.ts'

/** `GET /tasks/{id}`: `{id}` is the upstream's id, `{task}` that of the task. */
export interface Call {
  readonly method: string
  readonly path: string
}
const INTERVALS = /^([1-9][0-9]{0,4}(?:ms|s|m|h))(?:\.\.([1-9][0-9]{0,4}(?:ms|s|m|h)))?$/
const CALL_PATTERN = /^(GET|POST|PUT|DELETE) (\/\S*)$/
/** `unknown_after` of tasks that an operator decides. */
const HOLD = 'hold'
const DEADLINE = '30m'
const VARIANTS = { video: '/url' }

const callOf = (text: string): Call => {
  const [, method = 'GET', path = '/'] = CALL_PATTERN.exec(text) ?? []
  return { method, path }
}
/** ms between two polls: the first, and the longest after doubling. */
const intervalsOf = (text: string) => {
  const [, first = '2s', longest = first] = INTERVALS.exec(text) ?? []
  return { first: amountIn(first, DURATIONS), longest: amountIn(longest, DURATIONS) }
}
const pointer = (description: string, example: string) =>
  text(description, { pattern: POINTER, examples: [example] })
const call = (description: string, example: string) =>
  parsed(description, CALL_PATTERN.source, callOf, { examples: [example] })
const time = <const T extends string>(description: string, value: T) =>
  duration(description, { default: value, examples: [value] })
const EXAMPLES = { examples: [{}] }
const dialect = required(
  oneOf('How requests and answers look to the customer.', dialectNames, {
    examples: [dialectNames[0]],
  }),
)
const SUBMIT = {
  path: text(
    'Path at the upstream, if not the path of the request; `{model}` is its name of the model.',
    {
      pattern: '^/',
      examples: ['/v1/videos'],
    },
  ),
  body: map(
    'The body at the upstream, if not the request: its members, or the places of inner ones such as /instances/0/prompt, and the places of their values in the request.',
    anyOf(
      'A place, or a list of places that makes a list of the values that are there.',
      [
        pointer('Where the request has the value.', '/prompt'),
        list(
          'Where the request has the items.',
          pointer('Where the request has the item.', '/input_reference/image_url'),
          { examples: [['/input_reference/image_url']], minItems: 1 },
        ),
      ],
      { examples: ['/prompt', ['/input_reference/image_url']] },
    ),
    { examples: [{ prompt: '/prompt', images: ['/input_reference/image_url'] }], minProperties: 1 },
  ),
}
const submit = object(
  'The call that starts the work.',
  {
    id: required(
      text(
        'Where the answer has the id of the upstream: a JSON Pointer, or header:NAME; of an address there the last part of its path.',
        { pattern: ID_PLACE, examples: ['/task_id', 'header:Location'] },
      ),
    ),
    ...SUBMIT,
    with: map(
      'Another path and body for requests that have a member; the first one counts.',
      object('For requests with this member.', SUBMIT, EXAMPLES),
      { examples: [{ input_reference: { path: '/ent/v2/img2video' } }], minProperties: 1 },
    ),
    results: pointer(
      'Where the answer has the results if the work is finished by then.',
      '/file_url',
    ),
    parent: pointer(
      'Where the request names an earlier task of the account, which it goes on from: the upstream that has that task gets the request, with its own id of the task.',
      '/taskId',
    ),
    creation: pointer(
      'Where the request names a result of an earlier task of the account by its `id`: the upstream that has that task gets the request. Another id is refused.',
      '/video_creation_id',
    ),
    own_id: pointer('Where the request gets the id of the task.', '/client_request_id'),
    callback: pointer(
      'Where the request gets the address at which the upstream announces a change: the task is polled then.',
      '/callback_url',
    ),
    code: pointer('Where the answer has a code that decides, if its status does not.', '/code'),
    codes: map(
      'What the codes mean: submitted, again (the upstream is busy) or failed; default is every other code.',
      oneOf('The meaning of a code.', ['submitted', 'again', 'failed'], {
        examples: ['submitted'],
      }),
      { examples: [{ 1: 'submitted', 23: 'again', default: 'failed' }] },
    ),
    refused: list(
      "What shows that an answer from 500 on comes from the provider and that it has created nothing: a status, or a place that has a value in the provider's own errors. By default the codes that `codes` names, without default, and the other places of codes of the dialect. If `codes` says that the code means submitted, and after other such answers, the task is unknown.",
      anyOf(
        'A status, or a place in the answer.',
        [
          pointer('A place that has a value.', '/reason'),
          integer('A status.', { minimum: 500, maximum: 599, examples: [500] }),
        ],
        { examples: ['/reason', 500] },
      ),
      { examples: [['/reason']] },
    ),
  },
  EXAMPLES,
)
const find = object(
  'The call that finds a submitted task by its own id, after the answer was lost. A successful answer without the id of the upstream, five times in a row, means that the submit is repeated; a failed call does not.',
  {
    path: required(
      call('Method and path; {task} is the id of the task.', 'GET /tasks?client_request_id={task}'),
    ),
    id: required(pointer('Where the answer has the id of the upstream.', '/tasks/0/id')),
    absent: integer(
      'Another status by which the upstream says that it has no such task. A wrong path has status 404, too.',
      { minimum: 400, maximum: 499, examples: [404] },
    ),
  },
  EXAMPLES,
)
const poll = object(
  'The call that asks how far it is.',
  {
    path: required(call('Method and path; {id} is the id of the upstream.', 'GET /tasks/{id}')),
    every: parsed(
      'Time between two polls: the first, and the longest, to which it doubles.',
      INTERVALS.source,
      intervalsOf,
      { default: '2s..20s', examples: ['2s..20s'] },
    ),
    deadline: orElse(
      anyOf(
        'Time after which an unfinished task fails: one time, or default and members of the request that change it where they are true.',
        [
          time('For every task.', DEADLINE),
          map('By members of the request.', time('For requests with this member.', '48h'), {
            examples: [{ default: DEADLINE, off_peak: '48h' }],
          }),
        ],
        { examples: [DEADLINE, { default: DEADLINE, off_peak: '48h' }] },
      ),
      DEADLINE,
    ),
    state: required(pointer('Where the answer has the state.', '/state')),
    states: required(
      map(
        'What the states of the upstream mean. Other values change nothing.',
        oneOf('A state of tasks.', ['submitted', 'running', 'succeeded', 'failed'], {
          examples: ['succeeded'],
        }),
        { examples: [{ success: 'succeeded' }] },
      ),
    ),
    progress: pointer('Where the answer has the progress: 45, "45" or "45%".', '/progress'),
    error: objectOfDefaults(
      'Where the answer of a failed task has its reason.',
      {
        code: pointer('The code.', '/err_code'),
        message: pointer('The text.', '/message'),
      },
      EXAMPLES,
    ),
    results: required(
      pointer('Where the results are: a URL, an object, or a list of them.', '/creations'),
    ),
    results_path: call(
      'Method and path of the call whose answer has the results, if not the poll.',
      'GET /tasks/{id}/result',
    ),
    details: map(
      'More members of the first result, and their places in the answer.',
      pointer('Where the member is.', '/promptEn'),
      { examples: [{ promptEn: '/promptEn' }] },
    ),
    usage: map(
      'Where the answer of a finished task says what was made: meters of the price (seconds, images, output, …), and attributes that it depends on (resolution, quality, …). They are charged before what the request ordered; a meter that neither has is charged at its bound.',
      pointer(
        'Where the number or the value is. Of a list the elements that hold something count for images, calls and image_generation.',
        '/duration',
      ),
      {
        examples: [{ seconds: '/duration', resolution: '/resolution' }],
        propertyNames: { pattern: '^[a-z][a-z0-9_]{0,63}$' },
      },
    ),
    empty: oneOf(
      'What a task is that the upstream finished without a result; a failed one is not charged.',
      ['failed', 'succeeded'],
      { default: 'failed', examples: ['succeeded'] },
    ),
  },
  EXAMPLES,
)
const CREATE = object(
  'The route creates tasks.',
  {
    dialect,
    upstreams: list(
      'The upstreams that answer these calls; models without such a target are not served here.',
      text('The name of an upstream.', { examples: ['vd'] }),
      { examples: [['vd']], minItems: 1, uniqueItems: true },
    ),
    submit: required(submit),
    find,
    poll: required(poll),
    variants: map(
      'Other forms of a result that clients may download, and the places of their URLs in it.',
      pointer('The place of the URL in the result.', '/cover_url'),
      { default: VARIANTS, examples: [{ thumbnail: '/cover_url' }], minProperties: 1 },
    ),
    cancel: object(
      'The call that cancels it.',
      {
        path: required(
          call('Method and path; {id} is the id of the upstream.', 'POST /tasks/{id}/cancel'),
        ),
      },
      EXAMPLES,
    ),
    idempotency: parsed(
      'The header by which the upstream recognises a repeated submit, if it has one.',
      '^[A-Za-z][A-Za-z0-9-]*$',
      name => name.toLowerCase(),
      { examples: ['Idempotency-Key'] },
    ),
    results: oneOf(
      "What customers get: the upstream's links; with refresh, links that it is asked for again before they expire; or signed URLs of copies in the file store, each valid for 24 hours. Copies are kept as long as the task.",
      ['link', 'refresh', 'copy'],
      { default: 'link', examples: ['copy'] },
    ),
    wait: duration('Time that a create waits for the end of its task before it answers.', {
      default: '0s',
      examples: ['55s'],
    }),
    open: integer('Unfinished tasks that an account may have; another create is refused.', {
      minimum: 1,
      examples: [5],
    }),
    mode: text(
      'The name of the group whose limit the tasks share; the name of the route if only running is set.',
      { minLength: 1, examples: ['fast'] },
    ),
    running: integer(
      'Tasks of the mode that the upstream has at once, over all workers and machines; more wait.',
      { minimum: 1, examples: [12] },
    ),
    late: list(
      'Times after the deadline at which a task that has failed by it is polled again. If the upstream has finished it, it succeeds and is charged.',
      time('A time after the deadline.', '1h'),
      { default: ['5m', '1h', '24h'], examples: [['5m', '1h', '24h']] },
    ),
    unknown_after: parsed(
      'Time after which a task fails, and its hold is released, where it is unknown whether the upstream got it; hold keeps it until an operator decides.',
      `${TIME}|^${HOLD}$`,
      after => (after === HOLD ? undefined : amountIn(after, DURATIONS)),
      { default: '1h', examples: ['1h', HOLD] },
    ),
    keep: time('How long a finished task can be queried.', '30d'),
  },
  EXAMPLES,
)
const VIEW = object(
  'The route shows or cancels tasks.',
  {
    dialect,
    view: required(
      oneOf('What the route does.', ['query', 'list', 'cancel'], { examples: ['query'] }),
    ),
  },
  EXAMPLES,
)
const QUEUE_VIEW = object(
  'The route shows the queue.',
  {
    dialect: required(
      oneOf(dialect.schema.description, queueDialectNames, { examples: queueDialectNames }),
    ),
    view: required(
      oneOf('The unfinished tasks of the account, or how busy the modes are.', ['queue', 'speed'], {
        examples: ['queue', 'speed'],
      }),
    ),
  },
  EXAMPLES,
)
const RESULT_VIEW = object(
  'The route works on the result of a task.',
  {
    dialect: required(
      oneOf(dialect.schema.description, resultDialectNames, { examples: resultDialectNames }),
    ),
    view: required(
      oneOf(
        'content: sends a file of the result; delete: deletes a finished task, and cancels one that has not begun; remix: refuses, because no upstream changes finished results.',
        ['content', 'delete', 'remix'],
        { examples: ['content'] },
      ),
    ),
  },
  EXAMPLES,
)
const SHAPES = [CREATE, CHANGE, CALL, VIEW, QUEUE_VIEW, RESULT_VIEW, REPLY, ACCOUNT] as const
export const SCHEMA = anyOf('The route creates durable tasks, or shows them.', SHAPES, {
  examples: [{ dialect: dialectNames[0], view: 'query' }],
}).schema
export type Options = RawOf<(typeof SHAPES)[number]>
export type CreateOptions = RawOf<typeof CREATE>
export type ResultViewOptions = RawOf<typeof RESULT_VIEW>
/** A view of tasks in the words of a dialect. */
export type ViewOptions = Pick<CreateOptions, 'dialect'> & {
  readonly view: Exclude<RawOf<typeof VIEW | typeof QUEUE_VIEW>['view'], 'speed'>
}
export type ViewName = ViewOptions['view']
const RESULT_VIEWS: readonly string[] = ['content', 'delete', 'remix']
export const isResultView = (options: { readonly view: string }): options is ResultViewOptions =>
  RESULT_VIEWS.includes(options.view)

export type TaskRule = ReturnType<typeof ruleOf>
export type SubmitOutcome = NonNullable<CreateOptions['submit']['codes']>[string]
/** Times in ms; undefined members have no default. */
export const ruleOf = (options: CreateOptions) => {
  const { cancel, find, poll, results, submit, unknown_after, upstreams, variants, ...rest } =
    CREATE.read(options)
  return {
    ...rest,
    /** The upstreams that these calls are for; undefined: any. */
    upstreams: upstreams && new Set(upstreams),
    submit: {
      ...submit,
      /** For requests that have this member; the first counts. */
      with: Object.entries(submit.with ?? {}),
      /** The meaning of codes: see `submitOutcome`. */
      codes: new Map(Object.entries(submit.codes ?? {})),
      refused:
        submit.refused ??
        taskDialects[rest.dialect].refusals.filter(place => place !== submit.code),
      /** Whether codes that `codes` names decide from 500 on. */
      refusesByCode: submit.refused === undefined,
    },
    /** How a submit whose answer was lost is found by the id of the task. */
    find: find && { call: find.path, id: find.id, absent: find.absent },
    poll: {
      ...poll,
      ...poll.every,
      ...deadlinesOf(poll.deadline),
      call: poll.path,
      states: new Map(Object.entries(poll.states)),
      /** The call whose answer has the results, if not the poll. */
      resultsCall: poll.results_path,
      details: Object.entries(poll.details ?? {}),
      usage: Object.entries(poll.usage ?? {}),
      /** Whether a task that succeeded without a result fails. */
      needsResult: poll.empty === 'failed',
    },
    /** Other forms of the result -> the place of their URL in the result. */
    variants: new Map(Object.entries({ ...VARIANTS, ...variants })),
    cancel: cancel?.path,
    /** Whether the files of results are copied into the file store. */
    copies: results === 'copy',
    /** Whether the upstream is asked again for links before they expire. */
    refreshes: results === 'refresh',
    late: rest.late.toSorted((one, other) => one - other),
    /** Undefined: an operator decides. */
    unknownAfter: unknown_after,
  }
}
/** `deadlines`: of requests with this member set to true. */
const deadlinesOf = (deadline: number | Readonly<Record<string, number>>) => {
  if (typeof deadline === 'number') return { deadline, deadlines: [] }
  const { default: usual = amountIn(DEADLINE, DURATIONS), ...members } = deadline
  return { deadline: usual, deadlines: Object.entries(members) }
}
/** ms that a task of this request may take. */
export const deadlineFor = (body: Readonly<Record<string, unknown>>, { poll }: TaskRule): number =>
  poll.deadlines.find(([member]) => body[member] === true)?.[1] ?? poll.deadline

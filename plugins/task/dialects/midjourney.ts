/** Tasks of the image endpoints: /mj. Bodies are those of midjourney-proxy. */
import { errors } from '../../../engine/errors.ts'
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFinal, type State, type Task } from '../task.ts'
import type { ModeFigures, TaskDialect } from './dialect.ts'
import { hmacHeaders } from './hmac-headers.ts'
import { midjourneySchemas } from './schemas.ts'
import { LIST_SIZE, STATUSES } from './statuses.ts'

/** The member of a create with the URL. */
const HOOK = 'notifyHook'

const fault = errors({
  IMAGE_MODEL: [400, 'model unavailable', { param: 'model' }],
  IMAGE_UNKNOWN: [404, 'task not found', { param: 'id' }],
  IMAGE_NOT_CANCELLABLE: [400, 'task status is %s, can not cancel'],
  IMAGES_OPEN: [429, 'this account has %d unfinished tasks; wait until one has finished'],
  IMAGE_HOOK: [400, 'invalid field: notifyHook: %s', { param: HOOK }],
})

const ACCEPTED = { code: 1, description: '成功' } as const

const textIn = (fields: Fields | undefined, name: string): string | undefined => {
  const value = fields?.[name]
  return typeof value === 'string' ? value : undefined
}
/** By the last part of the path; other creates name their action. */
const ACTIONS: Readonly<Record<string, string>> = {
  imagine: 'IMAGINE',
  blend: 'BLEND',
  shorten: 'SHORTEN',
  modal: 'MODAL',
}
const commandOf = ({ path }: Task): string => path.slice(path.lastIndexOf('/') + 1)
/** Actions that continue with a `modal`, which is charged. */
const WINDOWS: ReadonlySet<string | undefined> = new Set(['INPAINT', 'CUSTOM_ZOOM'])

/** Until a task ends, its members are those of the request. */
const query = (task: Task): Fields => {
  const { body, state, error } = task
  const result = task.results[0] as Fields | undefined
  const prompt = textIn(body, 'prompt') ?? textIn(result, 'prompt') ?? ''
  const command = commandOf(task)
  const action = textIn(body, 'action') ?? ACTIONS[command] ?? 'IMAGINE'
  const ownDescription = command === 'imagine' ? undefined : textIn(result, 'description')
  const finalPrompt = textIn(result, 'finalPrompt')
  const status = STATUSES[state]
  return {
    id: task.id,
    action,
    prompt,
    promptEn: textIn(result, 'promptEn') ?? prompt,
    description: ownDescription ?? `/${command} ${prompt}`,
    state: textIn(body, 'state') ?? '',
    submitTime: task.created,
    startTime: status === 'NOT_START' ? null : (task.started ?? null),
    finishTime: finishTimeOf(task),
    imageUrl: textIn(result, 'url') ?? null,
    status,
    progress: `${task.progress}%`,
    failReason: state === 'failed' ? ((error?.message || error?.code) ?? null) : null,
    properties: finalPrompt === undefined ? {} : { finalPrompt },
    buttons: Array.isArray(result?.buttons) ? result.buttons : [],
  }
}

/** A task that failed by its deadline changes again with each late poll. */
const finishTimeOf = ({ state, changed, deadline }: Task): number | null => {
  if (!isFinal(state)) return null
  return state === 'failed' ? Math.min(changed, deadline) : changed
}

/** The mode is that of the path, which is what the customer pays for. A dash may be typed as the
 *  longer one that phones make of two. */
const MODE_PARAMETER = /(?:--|\u2014|\u2013)(?:fast|relax|turbo)(?![\w-])/gi
const submitted = (body: Fields): Fields => {
  const prompt = textIn(body, 'prompt')
  if (prompt === undefined) return body
  return { ...body, prompt: prompt.replace(MODE_PARAMETER, '').trim() }
}
/** Code 21: the client sends a `modal` with this id next. */
const create = ({ id, body }: Task): Fields =>
  WINDOWS.has(textIn(body, 'action'))
    ? { code: 21, description: 'Waiting for window confirm', result: id, properties: {} }
    : { ...ACCEPTED, result: id, properties: {} }

/** `ids`, of `list-by-condition`: only these. */
const page: TaskDialect['page'] = (search, now) => {
  const whole = { from: 0, to: now + 1, size: LIST_SIZE, number: 0 }
  return search.has('ids') ? { ...whole, filters: { ids: search.getAll('ids') } } : whole
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0)
/** `capacity`: null if a mode has no limit; a speed: null before a task has succeeded. */
const speed = (modes: readonly ModeFigures[], now: number): Json => {
  const queued = sumOf(modes.map(mode => mode.queued))
  const fullModes = modes.filter(({ isFull }) => isFull).length
  const isFull = fullModes > 0 && fullModes === modes.length
  const limits = modes.flatMap(({ capacity }) => capacity ?? [])
  return {
    ...ACCEPTED,
    result: {
      state: isFull ? 'full' : fullModes > 0 || queued > 0 ? 'busy' : 'normal',
      running: sumOf(modes.map(mode => mode.running)),
      queued,
      capacity: limits.length === modes.length ? sumOf(limits) : null,
      speed: Object.fromEntries(modes.map(({ name, seconds }) => [name, seconds ?? null])),
      updated_at: now,
    },
  }
}

export const midjourney = {
  schemas: midjourneySchemas,
  refusals: ['/code'],
  submitted,
  create,
  query,
  list: tasks => tasks.map(query),
  page,
  cancelled: () => ({ ...ACCEPTED, result: '', properties: {} }),
  speed,
  callback: {
    member: HOOK,
    fault: problem => fault('IMAGE_HOOK', [problem]),
    topicOf: state => (STATUSES[state] === 'NOT_START' ? undefined : STATUSES[state]),
    signatureHeaders: hmacHeaders('midjourney'),
  },
  faults: {
    notServed: () => fault('IMAGE_MODEL'),
    notFound: () => fault('IMAGE_UNKNOWN'),
    notCancellable: state => fault('IMAGE_NOT_CANCELLABLE', [STATUSES[state as State]]),
    tooManyOpen: most => fault('IMAGES_OPEN', [most]),
  },
} satisfies TaskDialect

/** Tasks of the video endpoints: /ent/v2. */
import { errors } from '../../../engine/errors.ts'
import type { Json, Target } from '../../../engine/plugin.ts'
import { type Fields, type State, TASK_ERRORS, type Task } from '../task.ts'
import type { TaskContext, TaskDialect } from './dialect.ts'
import { viduSchemas } from './schemas.ts'
import { viduCallback } from './vidu-callback.ts'
import { STATES, TYPES, viduFilters } from './vidu-filters.ts'
import { viduImages } from './vidu-images.ts'

const fault = errors({
  TASK_MODEL: [
    400,
    'model unavailable',
    { as: { vidu: { type: 'ModelUnavailable' } }, param: 'model' },
  ],
  TASK_UNKNOWN: [404, 'task not found', { as: { vidu: { type: 'TaskNotFound' } } }],
  TASK_NOT_CANCELLABLE: [400, 'task state is %s, can not cancel'],
  TASKS_OPEN: [
    429,
    'this account has %d unfinished tasks; wait until one has finished',
    { as: { vidu: { type: 'QuotaExceeded' } } },
  ],
  PAGE_SIZE: [
    400,
    'page size out of range: pager.pagesz is 1 to 100',
    { as: { vidu: { type: 'PageSizeOutOfRange' } }, param: 'pager.pagesz' },
  ],
  PAGE_VALUE: [400, 'invalid field: %s', { as: { vidu: { type: 'FieldInvalid' } } }],
})

const DAY = 86_400_000

const typeOf = ({ path }: Task): string => {
  const name = path.replace(/^.*\//, '')
  return TYPES[name] ?? name
}
const pick = (body: Fields, name: string, fallback: Json): Json => body[name] ?? fallback

/** Members that a create of a clip echoes, with their values if the request leaves them out. */
const ECHOED: readonly (readonly [string, Json])[] = [
  ['style', 'general'],
  ['prompt', ''],
  ['images', []],
  ['duration', 0],
  ['seed', 0],
  ['aspect_ratio', ''],
  ['resolution', ''],
  ['movement_amplitude', 'auto'],
]
const TAIL: readonly (readonly [string, Json])[] = [
  ['payload', ''],
  ['cus_priority', 0],
  ['off_peak', false],
  ['watermark', false],
  ['is_rec', false],
  ['wm_position', 3],
  ['wm_url', ''],
  ['meta_data', ''],
  ['client_request_id', ''],
]
const echo = (body: Fields, members: typeof ECHOED): Fields =>
  Object.fromEntries(members.map(([name, fallback]) => [name, pick(body, name, fallback)]))
const optional = (body: Fields, ...names: readonly string[]): Fields =>
  Object.fromEntries(
    names.flatMap((name): [string, Json][] =>
      body[name] === undefined ? [] : [[name, body[name] as Json]],
    ),
  )
const timeOf = (ms: number): string => new Date(ms).toISOString()

/** Members that creates of other media echo. */
const ECHOED_BY_TYPE: Readonly<Record<string, typeof ECHOED>> = {
  reference2image: [
    ['prompt', ''],
    ['images', []],
    ['seed', 0],
    ['aspect_ratio', ''],
    ['resolution', ''],
    ['payload', ''],
  ],
  text2audio: [
    ['prompt', ''],
    ['duration', 0],
    ['seed', 0],
    ['payload', ''],
  ],
  timing2audio: [
    ['duration', 0],
    ['timing_prompts', []],
    ['seed', 0],
    ['payload', ''],
  ],
  extend: [
    ['images', []],
    ['prompt', ''],
    ['duration', 0],
    ['resolution', ''],
    ['payload', ''],
  ],
  multiframe: [
    ['start_image', ''],
    ['image_settings', []],
    ['resolution', ''],
    ['payload', ''],
  ],
  'lip-sync': [['payload', '']],
  'upscale-new': [
    ['upscale_resolution', ''],
    ['payload', ''],
  ],
  template: [
    ['template', ''],
    ['images', []],
    ['prompt', ''],
    ['seed', 0],
    ['bgm', false],
    ['payload', ''],
  ],
  'template-story': [
    ['story', ''],
    ['images', []],
    ['payload', ''],
  ],
  'trending-replicate': [
    ['images', []],
    ['prompt', ''],
    ['aspect_ratio', ''],
    ['resolution', ''],
    ['payload', ''],
  ],
}
/** Members that a create echoes if the request has them. */
const ECHOED_IF_SET = [
  'bgm',
  'audio',
  'audio_type',
  'subjects',
  'video_url',
  'video_creation_id',
  'audio_url',
  'text',
  'speed',
  'character_id',
  'voice_id',
  'volume',
  'language',
  'ref_photo_url',
  'area',
  'beast',
  'remove_audio',
]
const SPEECH = 'audio-tts'
/** Creates whose bodies have no seed. */
const SEEDLESS: ReadonlySet<string> = new Set([
  SPEECH,
  'extend',
  'multiframe',
  'lip-sync',
  'upscale-new',
  'template-story',
  'trending-replicate',
])

const create = (task: Task, { credits }: TaskContext): Fields => {
  const type = typeOf(task)
  if (type === SPEECH) return speech(task, credits)
  const echoed = ECHOED_BY_TYPE[type]
  return {
    task_id: task.id,
    type,
    state: STATES[task.state],
    model: task.model,
    ...echo(task.body, echoed ?? ECHOED),
    ...optional(task.body, ...ECHOED_IF_SET),
    created_at: timeOf(task.created),
    credits,
    ...(echoed ? {} : echo(task.body, TAIL)),
  }
}
/** Its create waits for the file. */
const speech = (task: Task, credits: number): Fields => ({
  task_id: task.id,
  state: STATES[task.state],
  file_url: (task.results[0] as Fields | undefined)?.url ?? '',
  credits: task.state === 'failed' ? 0 : credits,
  ...(task.state === 'failed' && { err_code: errorCode(task) }),
  created_at: timeOf(task.created),
  payload: pick(task.body, 'payload', ''),
})
const errorCode = ({ error }: Task): string => error?.code ?? TASK_ERRORS.internal
const query = (task: Task, { credits }: TaskContext): Fields => ({
  id: task.id,
  task_id: task.id,
  state: STATES[task.state],
  err_code: task.state === 'failed' ? errorCode(task) : '',
  credits: task.state === 'failed' ? 0 : credits,
  payload: pick(task.body, 'payload', ''),
  bgm: pick(task.body, 'bgm', false),
  off_peak: pick(task.body, 'off_peak', false),
  creations: task.results,
})

const integer = (query: URLSearchParams, name: string, fallback: number): number => {
  const text = query.get(name)
  if (text === null || text === '') return fallback
  if (!/^\d{1,9}$/.test(text)) throw fault('PAGE_VALUE', [name], { param: name })
  return Number(text)
}
const instant = (query: URLSearchParams, name: string, fallback: number): number => {
  const text = query.get(name)
  if (text === null || text === '') return fallback
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw fault('PAGE_VALUE', [name], { param: name })
  return at
}

const MAX_SEED = 2_147_483_647
/** 0 and an absent seed mean a random one, which the client reads in the answer. No create gets a
 *  seed whose body has none: the provider refuses members that it does not know. */
const prepare = (body: Fields, path: string, random: number): Fields => {
  if (SEEDLESS.has(path.replace(/^.*\//, ''))) return body
  const seed = Number(body.seed ?? 0)
  return { ...body, seed: seed === 0 ? 1 + Math.floor(random * (MAX_SEED - 1)) : seed }
}
/** For models that take no subjects, the images of all subjects in their order. */
const submitted = (body: Fields, { traits }: Target): Fields => {
  const { subjects, ...members } = body
  if (traits?.subjects !== false || !Array.isArray(subjects)) return body
  const images = (subjects as readonly Fields[]).flatMap(each => (each.images ?? []) as Json)
  return { ...members, images }
}

export const vidu: TaskDialect = {
  schemas: viduSchemas,
  refusals: ['/reason'],
  prepare,
  images: { ...viduImages, lostCode: 'ImageDownloadFailure' },
  submitted,
  create,
  query,
  list: (tasks, contextOf, next) => ({
    next_page_token: next,
    tasks: tasks.map(task => ({
      ...query(task, contextOf(task)),
      key_id: task.key === undefined ? '' : String(task.key),
      template: typeOf(task),
      model: task.model,
      ...echo(task.body, ECHOED),
      created_at: timeOf(task.created),
    })),
  }),
  page(search, now) {
    const filters = viduFilters(search)
    const size = integer(search, 'pager.pagesz', 10)
    if (size < 1 || size > 100) throw fault('PAGE_SIZE')
    const token = search.get('pager.page_token')
    return {
      from: instant(search, 'created_at.from', now - 7 * DAY),
      to: instant(search, 'created_at.to', now + 1),
      size,
      number: token ? integer(search, 'pager.page_token', 0) : integer(search, 'pager.page', 0),
      ...(filters && { filters }),
    }
  },
  cancelled: () => ({}),
  callback: viduCallback,
  faults: {
    notServed: () => fault('TASK_MODEL'),
    notFound: () => fault('TASK_UNKNOWN', [], { param: 'id' }),
    notCancellable: state => fault('TASK_NOT_CANCELLABLE', [STATES[state as State]]),
    tooManyOpen: most => fault('TASKS_OPEN', [most]),
  },
}

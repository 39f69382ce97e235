/** Tasks of OpenAI's video endpoints: /v1/videos. */
import { errors } from '../../../engine/errors.ts'
import { integerIn, listPage, orderIn } from '../../dialects/openai-query.ts'
import { type Fields, type State, TASK_ERRORS, type Task } from '../task.ts'
import type { ResultDialect, TaskDialect } from './dialect.ts'
import { videoSchemas } from './schemas.ts'

const code = (text: string) => ({ openai: { code: text } })

const fault = errors({
  VIDEO_MODEL: [
    404,
    'This model makes no videos on this endpoint.',
    { param: 'model', as: code('model_not_found') },
  ],
  VIDEO_UNKNOWN: [404, "Video with id '%s' not found.", { param: 'video_id' }],
  VIDEO_UNFINISHED: [
    400,
    'This video is %s. A video can be deleted once it is completed or failed, or while it is queued.',
    { param: 'video_id', as: code('video_not_finished') },
  ],
  VIDEO_NOT_READY: [
    404,
    'This video is %s and has no content yet. Retrieve it until its status is completed.',
    { param: 'video_id', as: code('video_not_ready') },
  ],
  VIDEO_FAILED: [
    404,
    'This video has no content because its generation failed.',
    { param: 'video_id', as: code('video_failed') },
  ],
  VIDEO_VARIANT: [
    400,
    "Invalid value: '%s'. Supported values are: %s.",
    { param: 'variant', as: code('invalid_value') },
  ],
  VIDEO_NO_VARIANT: [
    404,
    "This video has no content of the variant '%s'.",
    { param: 'variant', as: code('variant_not_available') },
  ],
  VIDEO_REMIX: [
    400,
    "The model '%s' cannot remix videos.",
    { param: 'model', as: code('unsupported_model') },
  ],
  VIDEOS_OPEN: [
    429,
    'You have %d unfinished videos. Wait until one has finished.',
    { as: { openai: { type: 'requests', code: 'rate_limit_exceeded' } } },
  ],
  VIDEO_AFTER: [
    400,
    "Invalid value for 'after': '%s' is not the id of a video.",
    { param: 'after', as: code('invalid_value') },
  ],
})

/** Each state as clients see it. */
const STATUSES: Readonly<Record<State, string>> = {
  accepted: 'queued',
  submitting: 'queued',
  submitted: 'queued',
  running: 'in_progress',
  unknown: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
}
const VARIANTS = ['video', 'thumbnail', 'spritesheet']
const PREFIX = 'video_'
const ID = /^video_[0-9]{18}$/
const [PAGE_SIZE, MAX_PAGE_SIZE] = [20, 100]

const seconds = (ms: number): number => Math.floor(ms / 1_000)

const video = (task: Task): Fields => {
  const { state, body } = task
  const isCompleted = state === 'succeeded'
  return {
    id: task.id,
    object: 'video',
    model: task.model,
    status: STATUSES[state],
    progress: isCompleted ? 100 : state === 'failed' ? 0 : task.progress,
    created_at: seconds(task.created),
    completed_at: isCompleted ? seconds(task.changed) : null,
    expires_at: isCompleted ? seconds(task.expires) : null,
    prompt: body.prompt ?? null,
    seconds: body.seconds ?? null,
    size: body.size ?? null,
    remixed_from_video_id: null,
    error: state === 'failed' ? errorOf(task) : null,
  }
}

const MESSAGE = 'The video could not be generated.'
/** Failures that the gateway found, in the style of OpenAI's codes. */
const OWN_ERRORS: Readonly<Record<string, Fields>> = {
  [TASK_ERRORS.timeout]: { code: 'timeout', message: 'The video was not finished in time.' },
  [TASK_ERRORS.cancelled]: { code: 'cancelled', message: 'The video was cancelled.' },
  [TASK_ERRORS.internal]: { code: 'server_error', message: MESSAGE },
}
const errorOf = ({ error }: Task): Fields => {
  const { code = TASK_ERRORS.internal, message = '' } = error ?? {}
  return OWN_ERRORS[code] ?? { code, message: message === '' ? MESSAGE : message }
}

/** Where a request names a stored image. Bytes of the largest request that an upstream takes. */
const images: NonNullable<TaskDialect['images']> = {
  map(body, replace) {
    const { file_id: id } = (body.input_reference ?? {}) as Fields
    if (typeof id !== 'string') return body
    const image = replace(id, 'input_reference.file_id')
    return image === id ? body : { ...body, input_reference: { image_url: image } }
  },
  limit: 20 * 2 ** 20,
  lostCode: 'file_not_found',
}

export const openaiVideos: TaskDialect & ResultDialect = {
  schemas: videoSchemas,
  refusals: ['/reason', '/error/type', '/error/code'],
  idPrefix: PREFIX,
  images,
  create: video,
  query: video,
  list: (tasks, _, next) => listPage(tasks.map(video), next !== ''),
  page(query) {
    const after = query.get('after') || undefined
    if (after !== undefined && !ID.test(after)) throw fault('VIDEO_AFTER', [after.slice(0, 100)])
    const size = integerIn('limit', query.get('limit') ?? String(PAGE_SIZE), 1, MAX_PAGE_SIZE)
    return { order: orderIn(query), after, size }
  },
  cancelled: video,
  deleted: ({ id }) => ({ id, object: 'video.deleted', deleted: true }),
  variantOf(query) {
    const variant = query.get('variant') ?? 'video'
    if (VARIANTS.includes(variant)) return variant
    const choice = VARIANTS.map(each => `'${each}'`).join(', ')
    throw fault('VIDEO_VARIANT', [variant.slice(0, 100), choice])
  },
  faults: {
    notServed: () => fault('VIDEO_MODEL'),
    notFound: id => fault('VIDEO_UNKNOWN', [id.slice(0, 100)]),
    notCancellable: state => fault('VIDEO_UNFINISHED', [STATUSES[state as State]]),
    tooManyOpen: most => fault('VIDEOS_OPEN', [most]),
  },
  resultFaults: {
    noContent: ({ state }) =>
      state === 'failed' ? fault('VIDEO_FAILED') : fault('VIDEO_NOT_READY', [STATUSES[state]]),
    noVariant: variant => fault('VIDEO_NO_VARIANT', [variant]),
    noRemix: ({ model }) => fault('VIDEO_REMIX', [model]),
  },
}

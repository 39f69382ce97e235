/** Tasks of new-api's video endpoints: /v1/video/generations and /kling/v1/videos. */
import { errors } from '../../../engine/errors.ts'
import type { Json } from '../../../engine/plugin.ts'
import type { Fields, State, Task } from '../task.ts'
import type { CallbackDialect, TaskDialect } from './dialect.ts'
import { hmacHeaders } from './hmac-headers.ts'
import {
  faults,
  PREFIX,
  page,
  reasonOf,
  secondsOf,
  successOf,
  taskMembers,
  textIn,
  urlOf,
} from './new-api.ts'
import { newApiVideoSchemas } from './new-api-schemas.ts'

/** Each state in the documented answer, which has other words than the task. */
const WORDS: Readonly<Record<State, string>> = {
  accepted: 'queued',
  submitting: 'queued',
  submitted: 'queued',
  running: 'processing',
  unknown: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
}

/** A create names an image by one of three members. The upstream gets `image`, `images` and a text
 *  and a number of the seconds. `defaults` of the model derive what is priced from `seconds`,
 *  `width` and `height` alone. On Kling's paths `model_name` is the model. */
const prepare = (body: Fields): Fields => {
  const { duration, images, model = body.model_name } = body
  const [first] = (images ?? []) as readonly Json[]
  const image = textIn(body, 'image') ?? first ?? textIn(body, 'input_reference')
  return {
    ...body,
    ...(model !== undefined && { model }),
    ...(image !== undefined && { image, images: (first === undefined ? [image] : images) as Json }),
    ...(duration !== undefined && { duration: Number(duration), seconds: String(duration) }),
  }
}

const create = (task: Task): Fields => ({
  id: task.id,
  task_id: task.id,
  object: 'video',
  model: task.model,
  status: 'queued',
  progress: 0,
  created_at: secondsOf(task.created),
})

/** The answer that new-api documents. */
const videoOf = (task: Task): Fields => {
  const { id, state, body } = task
  const { duration = null, seed = null, size = null } = body
  const isDone = state === 'succeeded'
  return {
    task_id: id,
    status: WORDS[state],
    url: urlOf(task) ?? null,
    format: isDone ? 'mp4' : null,
    metadata: isDone ? { duration, seed, size } : null,
    error: state === 'failed' ? { code: 500, message: reasonOf(task) } : null,
  }
}
/** Each state as clients of Kling see it. */
const KLING_WORDS: Readonly<Record<State, string>> = {
  accepted: 'submitted',
  submitting: 'submitted',
  submitted: 'submitted',
  running: 'processing',
  unknown: 'processing',
  succeeded: 'succeed',
  failed: 'failed',
}
/** A task as Kling shows and announces it:
 *  docs.kkiai.com/Other-Model-APIs/kling-platform-api/async-task-callback-protocol.html */
const klingTaskOf = (task: Task): Fields => {
  const { id, state, body, created, changed } = task
  const url = urlOf(task)
  const duration = body.duration === undefined ? '' : String(body.duration)
  return {
    task_id: id,
    task_status: KLING_WORDS[state],
    task_status_msg: reasonOf(task),
    task_result: { videos: url === undefined ? [] : [{ id, url, duration }] },
    created_at: created,
    updated_at: changed,
  }
}
/** Kling's answer about a task. */
const klingOf = (task: Task): Fields => ({
  code: 0,
  message: 'SUCCEED',
  request_id: task.request,
  data: klingTaskOf(task),
})
const isKling = ({ path }: Task): boolean => path.startsWith('/kling/')
const show = (task: Task): Fields => {
  const action = task.body.image === undefined ? 'textGenerate' : 'generate'
  return taskMembers(task, action, isKling(task) ? klingOf(task) : videoOf(task))
}

const MEMBER = 'callback_url'
const fault = errors({
  NEW_API_CALLBACK: [400, 'invalid callback_url: %s', { param: MEMBER }],
})
/** Only bodies of Kling's paths have the member. A state that the create has shown is not
 *  announced. */
const klingCallback: CallbackDialect = {
  member: MEMBER,
  topicOf(state) {
    const word = KLING_WORDS[state]
    return word === KLING_WORDS.accepted ? undefined : word
  },
  body: klingTaskOf,
  fault: problem => fault('NEW_API_CALLBACK', [problem]),
  signatureHeaders: hmacHeaders('kling'),
}

export const newApiVideos: TaskDialect = {
  schemas: newApiVideoSchemas,
  refusals: ['/code', '/error/type', '/error/code'],
  idPrefix: PREFIX,
  prepare,
  create,
  // Clients of its code read `data`, clients of its documentation the members beside it.
  query: task => ({ ...successOf(show(task)), ...videoOf(task) }),
  list: tasks => successOf(tasks.map(show)),
  page,
  cancelled: task => successOf(show(task)),
  callback: klingCallback,
  faults,
}

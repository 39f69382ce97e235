/** The sandbox of the video API: tasks whose state follows from their id, so that it stores none.
 *  Pure. */
import type { Json } from '../../engine/plugin.ts'
import type { Fields } from './sandbox-format.ts'

/** An answer of the video API. */
export interface TaskAnswer {
  readonly status: number
  readonly json: Json
}
export interface TaskCall {
  readonly method: string
  readonly path: string
  /** ms since 1970. */
  readonly now: number
  /** The absolute address of a file of the sandbox. */
  fileUrl(name: string): string
}

const CREATE = /\/ent\/v2\/([a-z0-9-]+)$/
const TASK = /\/ent\/v2\/tasks\/([1-9])([0-9]{13})\/(creations|cancel)$/
/** ms after the create. */
const QUEUED_UNTIL = 1_000
const PROCESSED_UNTIL = 3_000

interface Medium {
  readonly paths: readonly string[]
  readonly file: string
  /** The reported cost of a task; 0 for media whose price does not depend on it. */
  readonly credits: number
  /** Whether the answer to its create has the file. */
  readonly isInstant?: true
}
/** The first digit of an id is the number of its medium. */
const MEDIA: readonly Medium[] = [
  {
    paths: ['text2video', 'img2video', 'reference2video', 'start-end2video'],
    file: 'clip.mp4',
    credits: 0,
  },
  { paths: ['reference2image'], file: 'image.png', credits: 0 },
  { paths: ['text2audio'], file: 'tone.wav', credits: 0 },
  { paths: ['audio-tts'], file: 'tone.wav', credits: 0, isInstant: true },
  {
    paths: [
      'extend',
      'multiframe',
      'lip-sync',
      'upscale-new',
      'template',
      'template-story',
      'trending-replicate',
    ],
    file: 'clip.mp4',
    credits: 20,
  },
  { paths: ['timing2audio'], file: 'tone.wav', credits: 10 },
]

/** Undefined: this is not a call of the video API. */
export const taskAnswer = (call: TaskCall): TaskAnswer | undefined => {
  const [, digit, time, action] = TASK.exec(call.path) ?? []
  const medium = digit === undefined ? undefined : MEDIA[Number(digit) - 1]
  if (!medium) return call.method === 'POST' ? createAnswer(call) : undefined
  const age = call.now - Number(time)
  if (action === 'creations' && call.method === 'GET') return queryAnswer(call, medium, age)
  return action === 'cancel' && call.method === 'POST' ? cancelAnswer(age) : undefined
}
const createAnswer = ({ path, now, fileUrl }: TaskCall): TaskAnswer | undefined => {
  const name = CREATE.exec(path)?.[1] ?? ''
  const index = MEDIA.findIndex(({ paths }) => paths.includes(name))
  const medium = MEDIA[index]
  if (!medium) return undefined
  const { credits } = medium
  const id = { task_id: `${index + 1}${now}`, credits, created_at: new Date(now).toISOString() }
  return medium.isInstant
    ? { status: 200, json: { ...id, state: 'success', file_url: fileUrl(medium.file) } }
    : { status: 200, json: { ...id, state: 'created' } }
}
const queryAnswer = (
  { path, fileUrl }: TaskCall,
  { file, credits }: Medium,
  age: number,
): TaskAnswer => {
  const isDone = age >= PROCESSED_UNTIL
  const state = isDone ? 'success' : age < QUEUED_UNTIL ? 'queueing' : 'processing'
  const id = path.split('/').at(-2) ?? ''
  const creations = isDone ? [creationOf(id, file, fileUrl)] : []
  return { status: 200, json: { id, state, err_code: '', credits, payload: '', creations } }
}
const creationOf = (id: string, file: string, fileUrl: TaskCall['fileUrl']): Fields => {
  const url = fileUrl(file)
  const video = { duration: 2, fps: 5, resolution: { width: 96, height: 54 } }
  return {
    id: `${id}1`,
    url,
    cover_url: fileUrl('image.png'),
    watermarked_url: url,
    ...(file.endsWith('.mp4') && { video }),
  }
}
const cancelAnswer = (age: number): TaskAnswer => {
  if (age < QUEUED_UNTIL) return { status: 200, json: {} }
  const message = 'task state is processing, can not cancel'
  return { status: 400, json: { code: 400, reason: 'BadRequest', message } }
}

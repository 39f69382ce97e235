/** JSON Schemas of what clients of each dialect get, and the parameters of their lists. */
import type { RouteDescription } from '../../../engine/plugin.ts'
import {
  between,
  boolean,
  constant,
  fields,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  pageOf,
  query,
  type Shape,
  text,
  time,
} from '../../shapes.ts'
import { taskStatus } from './statuses.ts'

export interface TaskSchemas {
  readonly create: Shape
  readonly query: Shape
  readonly list: Shape
  readonly cancelled: Shape
  readonly deleted?: Shape
  readonly speed?: Shape
  /** The parameters of the list. */
  readonly paging: NonNullable<RouteDescription['parameters']>
}

// ---------------------------------------------------------------- /ent/v2

const state = oneOf('created', 'queueing', 'processing', 'success', 'failed')
const viduQuery = {
  id: text,
  task_id: text,
  state,
  err_code: text,
  credits: number,
  payload: text,
  bgm: boolean,
  off_peak: boolean,
  creations: list(object({}, { id: text, url: text, cover_url: text })),
}
export const viduSchemas: TaskSchemas = {
  create: object(
    { task_id: text, state, credits: number, created_at: time },
    {
      type: text,
      model: text,
      prompt: text,
      images: list(text),
      duration: number,
      seed: integer,
      aspect_ratio: text,
      resolution: text,
      payload: text,
      file_url: text,
      err_code: text,
    },
  ),
  query: object(viduQuery),
  list: object({
    next_page_token: text,
    tasks: list(
      object({ ...viduQuery, key_id: text, model: text, template: text, created_at: time }),
    ),
  }),
  cancelled: object({}),
  paging: [
    query('pager.pagesz', 'The number of tasks, from 1 to 100; 10 by default', between(1, 100)),
    query('pager.page', 'The number of the page, from 0', integer),
    query('pager.page_token', '`next_page_token` of the page before'),
    query('created_at.from', 'The begin; 7 days ago by default', time),
    query('created_at.to', 'The end; now by default', time),
    query('states', 'Only these: created, queueing, processing, success, failed; with commas'),
    query('task_ids', 'Only these'),
    query('templates', 'Only these types'),
    query('model_versions', 'Only these models'),
    query('resolutions', 'Only these resolutions of the request'),
  ],
}

// ---------------------------------------------------------------- /v1/videos

const video = object({
  id: text,
  object: constant('video'),
  model: text,
  status: oneOf('queued', 'in_progress', 'completed', 'failed'),
  progress: number,
  created_at: integer,
  completed_at: nullable(integer),
  expires_at: nullable(integer),
  prompt: nullable(text),
  seconds: nullable(text),
  size: nullable(text),
  remixed_from_video_id: nullable(text),
  error: nullable(object({ code: text, message: text })),
})
export const videoSchemas: TaskSchemas = {
  create: video,
  query: video,
  list: pageOf(video),
  cancelled: video,
  deleted: object({ id: text, object: constant('video.deleted'), deleted: boolean }),
  paging: [
    query('limit', 'The number of videos, from 1 to 100; 20 by default', between(1, 100)),
    query('order', 'The latest first by default', oneOf('asc', 'desc')),
    query('after', '`last_id` of the page before'),
  ],
}

// ---------------------------------------------------------------- /mj

const accepted = { code: integer, description: text }
const image = object({
  id: text,
  action: text,
  prompt: text,
  promptEn: text,
  description: text,
  state: text,
  submitTime: integer,
  startTime: nullable(integer),
  finishTime: nullable(integer),
  imageUrl: nullable(text),
  status: taskStatus,
  progress: text,
  failReason: nullable(text),
  properties: fields,
  buttons: list(fields),
})
const submission = object({ ...accepted, result: text, properties: fields })
export const midjourneySchemas: TaskSchemas = {
  create: submission,
  query: image,
  list: list(image),
  cancelled: submission,
  speed: object({
    ...accepted,
    result: object({
      state: oneOf('normal', 'busy', 'full'),
      running: integer,
      queued: integer,
      capacity: nullable(integer),
      speed: { type: 'object', additionalProperties: nullable(number) },
      updated_at: integer,
    }),
  }),
  paging: [],
}

/** JSON Schemas of the answers of new-api's task endpoints. */
import {
  any,
  constant,
  fields,
  integer,
  list,
  nullable,
  object,
  oneOf,
  type Shape,
  text,
} from '../../shapes.ts'
import type { TaskSchemas } from './schemas.ts'
import { taskStatus } from './statuses.ts'

const task = object(
  {
    task_id: text,
    action: text,
    status: taskStatus,
    fail_reason: text,
    submit_time: integer,
    start_time: integer,
    finish_time: integer,
    progress: text,
    created_at: integer,
    updated_at: integer,
    properties: fields,
    data: any,
  },
  { result_url: text },
)
const success = (data: Shape) => ({ code: constant('success'), message: text, data })
const shared = {
  list: object(success(list(task))),
  cancelled: object(success(task)),
  paging: [],
}
export const sunoSchemas: TaskSchemas = {
  create: object(success(text)),
  query: object(success(task)),
  ...shared,
}
export const newApiVideoSchemas: TaskSchemas = {
  create: object({
    id: text,
    task_id: text,
    object: constant('video'),
    model: text,
    status: constant('queued'),
    progress: integer,
    created_at: integer,
  }),
  query: object({
    ...success(task),
    task_id: text,
    status: oneOf('queued', 'processing', 'succeeded', 'failed'),
    url: nullable(text),
    format: nullable(text),
    metadata: nullable(fields),
    error: nullable(object({ code: integer, message: text })),
  }),
  ...shared,
}

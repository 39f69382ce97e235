/** Tasks of new-api's music endpoints: /suno. */
import type { Fields, Task } from '../task.ts'
import type { TaskDialect } from './dialect.ts'
import { faults, PREFIX, page, successOf, taskMembers } from './new-api.ts'
import { sunoSchemas } from './new-api-schemas.ts'

const LYRICS = 'LYRICS'
const actionOf = ({ path }: Task): string => path.slice(path.lastIndexOf('/') + 1).toUpperCase()

/** A task of music has a list of songs, one of lyrics has its text. */
const show = (task: Task): Fields => {
  const action = actionOf(task)
  const { results } = task
  return taskMembers(task, action, action === LYRICS ? (results[0] ?? null) : results)
}

export const suno: TaskDialect = {
  schemas: sunoSchemas,
  refusals: ['/code'],
  idPrefix: PREFIX,
  create: ({ id }) => successOf(id),
  query: task => successOf(show(task)),
  list: tasks => successOf(tasks.map(show)),
  page,
  cancelled: task => successOf(show(task)),
  faults,
}

/** The dialects of tasks by name. */
import type { ResultDialect, TaskDialect } from './dialect.ts'
import { midjourney } from './midjourney.ts'
import { newApiVideos } from './new-api-videos.ts'
import { openaiVideos } from './openai-videos.ts'
import { suno } from './suno.ts'
import { vidu } from './vidu.ts'

export const taskDialects = {
  vidu,
  'openai-videos': openaiVideos,
  midjourney,
  'new-api-videos': newApiVideos,
  suno,
} as const satisfies Readonly<Record<string, TaskDialect>>
type Dialects = typeof taskDialects
export type TaskDialectName = keyof Dialects
export const dialectNames = Object.keys(taskDialects) as readonly TaskDialectName[]

/** Dialects with endpoints over results. */
export type ResultDialectName = {
  [Name in TaskDialectName]: Dialects[Name] extends ResultDialect ? Name : never
}[TaskDialectName]
export const resultDialectNames = dialectNames.filter(
  (name): name is ResultDialectName => 'variantOf' in taskDialects[name],
)

/** Dialects whose clients read the queue and how busy it is. */
export const queueDialectNames = ['midjourney'] as const satisfies readonly TaskDialectName[]

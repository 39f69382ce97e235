/** The dialects of tasks by name. */
import type { TaskDialect } from './dialect.ts'
import { vidu } from './vidu.ts'

export const taskDialects = { vidu } as const satisfies Readonly<Record<string, TaskDialect>>
export type TaskDialectName = keyof typeof taskDialects
export const dialectNames = Object.keys(taskDialects) as readonly TaskDialectName[]

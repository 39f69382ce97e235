/** Compiles a snapshot from a document and handmade plugins, without a server. */
import { compile } from '../../engine/config/compile/compile.ts'
import type { CompileError } from '../../engine/config/compile/compile-problem.ts'
import type { Document, Plugin } from '../../engine/plugin.ts'
import type { Resources } from '../../engine/snapshot/resources.ts'
import type { Snapshot } from '../../engine/snapshot/snapshot.ts'
import { fakeResources } from './core.ts'

export type Plugins = Readonly<Record<string, Plugin>>

/** A process's resources, with a store that accepts every list. */
export const freshResources = (more: Partial<Resources> = {}): Resources => {
  const resources = fakeResources({ lines: [], refuse: () => undefined, delay: 0 })
  resources.metrics.close()
  return { ...resources, ...more }
}

/** Compiles a snapshot; the pipeline is the order of `plugins`. */
export const compileSnapshot = (
  plugins: Plugins,
  document: Document,
  resources: Resources = freshResources(),
  files: Readonly<Record<string, string>> = {},
): Promise<Snapshot> => {
  const withPipeline = { pipeline: Object.keys(plugins), ...document }
  const blueprint = {
    version: 3,
    hash: 'h3',
    root: '/',
    document: withPipeline,
    plugins: [],
    files,
  }
  return compile(blueprint, new Map(Object.entries(plugins)), resources)
}

/** Compiles a document and returns its faults; an empty list if it compiles. */
export const faultsOf = async (
  plugins: Plugins,
  document: Document,
  resources?: Resources,
): Promise<CompileError['faults']> => {
  try {
    await compileSnapshot(plugins, document, resources)
    return []
  } catch (error) {
    return (error as CompileError).faults
  }
}

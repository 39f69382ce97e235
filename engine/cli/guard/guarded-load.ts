/** Runs code of plugins in the process of a command: a plugin that ends the process, or never
 *  returns, is reported as a problem, and the command fails. */
import { writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type LoadedConfig, type LoadOptions, load } from '../../config/load.ts'
import { type PluginFailure, pluginFailure } from '../../config/plugins/plugin-failures.ts'
import { isShippedFile } from '../../config/plugins/program.ts'
import { format } from '../../config/problem.ts'
import { EXIT } from '../kit.ts'
import type { GuardState } from './plugin-watch.ts'

/** ms between two steps that are counted while the event loop of the main thread runs. */
const HEARTBEAT = 500
/** ms without a step after which a plugin counts as hanging. */
const MAX_SILENCE = 10_000
/** Bytes of the problem that the thread prints. */
const MAX_TEXT = 4_096

export type { LoadedConfig }
/** Throws ProblemsError with all problems. */
export const guardedLoad = (options: Omit<LoadOptions, 'progress'>): Promise<LoadedConfig> =>
  guarded(options.config, progress => load({ ...options, progress }))

/** Runs code of plugins. `progress`: takes the file whose code runs next. */
export const guarded = <T>(
  config: string,
  run: (progress: PluginGuard['progress']) => Promise<T>,
): Promise<T> => {
  const guard = guardPlugins(config)
  return run(guard.progress).finally(() => guard.end())
}

interface PluginGuard {
  /** Reports the file whose code runs next; relative to the folder of the configuration. */
  readonly progress: (file: string) => void
  /** The plugins are loaded, or have failed. */
  end(): void
}
const guardPlugins = (config: string): PluginGuard => {
  const steps = new Int32Array(new SharedArrayBuffer(4))
  const text = new Uint8Array(new SharedArrayBuffer(MAX_TEXT))
  let lastFile = config
  let thread: Worker | undefined
  const advance = (): void => void Atomics.add(steps, 0, 1)
  const timer = setInterval(advance, HEARTBEAT)
  const textOf = (code: PluginFailure): string =>
    `${format([pluginFailure(code, lastFile)], new Map(), 'pretty')}\n`
  const onExit = (): void => {
    writeSync(process.stderr.fd, textOf('PLUGIN_ENDS'))
    process.exitCode = EXIT.problems
  }
  process.once('exit', onExit)
  const startThread = (): Worker => {
    const workerData: GuardState = { steps, text, limit: MAX_SILENCE }
    const started = new Worker(new URL('./plugin-watch.ts', import.meta.url), { workerData })
    started.unref()
    return started
  }
  return {
    progress: file => {
      advance()
      if (file === lastFile) return
      lastFile = file
      // Nothing but shipped plugins so far: they do not hang, so no thread watches them.
      if (!thread && isShippedFile(resolve(dirname(config), file))) return
      text.fill(0)
      new TextEncoder().encodeInto(textOf('PLUGIN_HANGS'), text)
      thread ??= startThread()
    },
    end: () => {
      clearInterval(timer)
      process.off('exit', onExit)
      void thread?.terminate()
    },
  }
}

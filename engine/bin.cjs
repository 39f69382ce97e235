#!/usr/bin/env node
/** Checks the runtime before TypeScript is read. Plain JavaScript: an old Node must parse it. */
'use strict'
const { spawn } = require('node:child_process')
const { accessSync, constants, existsSync, readFileSync, statSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const path = require('node:path')

// Older versions let smuggled headers through and cannot read TypeScript.
const OLDEST = '24.18.1'
// Set on the restarted process: if its runtime is too old as well, it fails instead of restarting
// again.
const CHANGED = 'TOLLGATE_CHANGED_RUNTIME'
/** The exit code of the dynamic linker; Tollgate has none like it. */
const CANNOT_LOAD = 127

/**
 * Decides what to do on this runtime: continue (`{}`), `change` to another node binary, or `refuse`
 * with one sentence. Pure. `flags`: those of the runtime (execArgv and NODE_OPTIONS). `pinned`: the
 * binary that is installed with the program, if any.
 */
const judge = ({ version, flags, pinned }) => {
  if (flags.some(isLenient))
    return {
      refuse:
        'Tollgate does not start with --insecure-http-parser, which lets smuggled requests through: remove it from NODE_OPTIONS or the command line.',
    }
  if (!isOlder(version, OLDEST)) return {}
  if (pinned && !isOlder(pinned.version, OLDEST)) return { change: pinned.path }
  return {
    refuse: `Tollgate needs Node ${OLDEST} or newer and this is Node ${version}: install a newer Node, or run "npm ci" in the project (without --ignore-scripts) to install the pinned one.`,
  }
}

// Node takes underscores for dashes, and `=value` after a flag.
const isLenient = flag => /^--insecure-http-parser(=(?!false).*)?$/.test(flag.replaceAll('_', '-'))

const isOlder = (version, other) => {
  const [parts, otherParts] = [version, other].map(text => text.split('.').map(Number))
  const index = parts.findIndex((part, at) => part !== otherParts[at])
  return index >= 0 && parts[index] < otherParts[index]
}

const flagsOf = (execArgv, options = '') => [...execArgv, ...options.split(/[\s"]+/)]

/** The binary of the npm package `node`. It is missing if install scripts were disabled. */
const findPinned = () => {
  try {
    const manifest = require.resolve('node/package.json', { paths: [__dirname] })
    const file = path.join(path.dirname(manifest), 'bin', 'node')
    return existsSync(file) ? { path: file, version: require(manifest).version } : undefined
  } catch {
    return undefined
  }
}

/** Runs the same command on another binary; passes on signals and the exit code. */
const change = binary => {
  // Installed before the child starts: a signal in between would end only this process. A terminal
  // sends its keys to the child as well, which takes both as one (engine/processes/signals.ts).
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'])
    process.on(signal, () => child.kill(signal))
  const child = spawn(binary, [...process.execArgv, __filename, ...process.argv.slice(2)], {
    // The channel closes when this process ends: the child then stops. Processes of the child have
    // other channels.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [CHANGED]: '1' },
  })
  // npm is the parent of this process, not of the child: only this process can see that npm ended.
  const { ppid } = process
  const checkParent = () => {
    if (process.ppid === ppid) return
    clearInterval(timer)
    child.kill('SIGTERM')
  }
  const { npm_lifecycle_event: event } = process.env
  // As in engine/processes/signals.ts.
  const isOfNpm = event === 'start' || event === 'npx'
  const timer = isOfNpm ? setInterval(checkParent, 250) : undefined
  child.on('exit', (code, signal) => {
    clearInterval(timer)
    if (code === CANNOT_LOAD)
      console.error(
        `${binary} needs a library that is missing here; on Debian and Ubuntu: apt-get install libatomic1`,
      )
    if (!signal) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/** Where `npm ci` keeps what it has built ahead (program/release/prebuild.ts). */
const PREBUILT = path.join(__dirname, '../node_modules/.cache/tollgate')

/** The program as one script, if its sources are still the same. Coverage is measured by source. */
const findPrebuilt = () => {
  if (process.env.NODE_V8_COVERAGE) return undefined
  try {
    const folder = path.join(PREBUILT, 'program')
    const { root, sources } = JSON.parse(readFileSync(path.join(folder, 'sources.json'), 'utf8'))
    const isSame = Object.entries(sources).every(([file, { size, mtimeMs }]) => {
      const now = statSync(path.join(root, file))
      return now.size === size && now.mtimeMs === mtimeMs
    })
    // A moved folder has the paths of the old one in its scripts.
    return isSame && root === path.join(__dirname, '..') ? path.join(folder, 'cli.cjs') : undefined
  } catch {
    return undefined
  }
}

/** Caches compiled code: parsing the program takes longer than running it. Where `npm ci` has
 *  prebuilt some, else in the data folder. */
const enableCodeCache = () => {
  const prebuilt = path.join(PREBUILT, 'code')
  const store = process.env.TOLLGATE_DATA || 'data'
  const isPrebuilt = isWritable(prebuilt)
  if (!isPrebuilt && !existsSync(store)) return
  // Processes that this one starts inherit the variable.
  process.env.NODE_COMPILE_CACHE ??= isPrebuilt ? prebuilt : path.resolve(store, 'cache', 'code')
  enableCompileCache(process.env.NODE_COMPILE_CACHE)
}
const isWritable = folder => {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** glibc gives each thread a heap of its own, which keeps what V8's compiler threads have freed. In
 *  the processes that this one starts, all threads share one; it cannot change its own. */
const useOneArena = () => {
  process.env.MALLOC_ARENA_MAX ??= '1'
}

const main = async () => {
  useOneArena()
  const flags = flagsOf(process.execArgv, process.env.NODE_OPTIONS)
  const verdict = judge({
    version: process.versions.node,
    flags,
    pinned: process.env[CHANGED] ? undefined : findPinned(),
  })
  if (verdict.change) return change(verdict.change)
  if (verdict.refuse) {
    console.error(verdict.refuse)
    process.exitCode = 2
    return
  }
  enableCodeCache()
  const prebuilt = findPrebuilt()
  // The package has JavaScript: Node reads no TypeScript below node_modules.
  const isSource = existsSync(path.join(__dirname, 'cli.ts'))
  const cli = prebuilt
    ? require(prebuilt)
    : await import(isSource ? './cli.ts' : '../dist/engine/cli.js')
  // Handles that a fault left open must not keep the process running after the command ended.
  await cli.mainAndExit(process.argv.slice(2))
}

module.exports = { judge, flagsOf }
if (require.main === module) main()

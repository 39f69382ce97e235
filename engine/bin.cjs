#!/usr/bin/env node
/** Checks the runtime before TypeScript is read. Plain JavaScript: an old Node must parse it. */
'use strict'
const { spawn } = require('node:child_process')
const { existsSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const path = require('node:path')

// Older lines let smuggled headers through and cannot read TypeScript.
const OLDEST = '24.18.1'
// Set on the restarted process: if it is still too old it fails instead of restarting for ever.
const CHANGED = 'TOLLGATE_CHANGED_RUNTIME'

/**
 * What to do on this runtime: go on (`{}`), `change` to another node binary, or `refuse` with one
 * sentence. Pure. `flags` are the runtime's own (execArgv and NODE_OPTIONS); `pinned` is the binary
 * installed with the program, if any.
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
    refuse: `Tollgate needs Node ${OLDEST} or newer and this is Node ${version}: install a newer Node, or run "npm ci" in the project to install the pinned one.`,
  }
}

// Node takes underscores for dashes, and `=value` after a flag.
const isLenient = flag => /^--insecure-http-parser(=(?!false).*)?$/.test(flag.replaceAll('_', '-'))

const isOlder = (version, other) => {
  const [left, right] = [version, other].map(text => text.split('.').map(Number))
  const at = left.findIndex((part, index) => part !== right[index])
  return at >= 0 && left[at] < right[at]
}

const flagsOf = (execArgv, options = '') => [...execArgv, ...options.split(/[\s"]+/)]

/** The npm package `node`. Its binary is missing where install scripts were off. */
const findPinned = () => {
  try {
    const manifest = require.resolve('node/package.json', { paths: [__dirname] })
    const file = path.join(path.dirname(manifest), 'bin', 'node')
    return existsSync(file) ? { path: file, version: require(manifest).version } : undefined
  } catch {
    return undefined
  }
}

/** The same command on another binary; signals and the exit code pass through. */
const change = binary => {
  // Before the child is there: a signal in between would leave it behind.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'])
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the whole group: the child has had its own.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  const child = spawn(binary, [...process.execArgv, __filename, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, [CHANGED]: '1' },
  })
  // The child sees this process as its parent: what becomes of npm is seen from here.
  const { ppid } = process
  const look = () => {
    if (process.ppid === ppid) return
    clearInterval(timer)
    child.kill('SIGTERM')
  }
  const { npm_lifecycle_event: event, npm_package_name: name } = process.env
  const timer = event === 'start' && name === 'tollgate' ? setInterval(look, 250) : undefined
  child.on('exit', (code, signal) => {
    clearInterval(timer)
    if (!signal) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/** Parsing the program costs more than running it: the compiled code is kept in the data folder. */
const rememberCode = () => {
  const folder = process.env.TOLLGATE_DATA || 'data'
  if (!existsSync(folder)) return
  // The processes it starts read it from there.
  process.env.NODE_COMPILE_CACHE ??= path.resolve(folder, 'cache', 'code')
  enableCompileCache(process.env.NODE_COMPILE_CACHE)
}

const main = async () => {
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
  rememberCode()
  const cli = await import('./cli.ts')
  // What a fault left open must not keep a verb that is over.
  process.exit(await cli.main(process.argv.slice(2)))
}

module.exports = { judge, flagsOf }
if (require.main === module) main()

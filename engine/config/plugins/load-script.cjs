/** Runs a CommonJS script with the code that V8 compiled for it in an earlier process. Node's
 *  compile cache keeps code as it is before a script runs, without the functions inside; this one
 *  also has the functions that ran. Plain JavaScript: it also loads the program itself. */
'use strict'
const { readFileSync, renameSync, writeFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { pathToFileURL } = require('node:url')
const { cachedDataVersionTag } = require('node:v8')
const { Script } = require('node:vm')

/** Returns the module of a script. It runs once, also if it throws. */
const createModules = () => {
  /** @type {Map<string, { exports: any, error?: unknown }>} */
  const modules = new Map()
  return file => {
    const module = modules.get(file) ?? { exports: {} }
    if (!modules.has(file)) {
      modules.set(file, module)
      try {
        run(file, module)
      } catch (error) {
        module.error = error
      }
    }
    return module
  }
}
const moduleOf = createModules()

/**
 * Returns the exports of a script, which runs once. The code is kept beside it, for each set of V8
 * flags. Throws what the script has thrown, each time.
 * @param {string} file absolute path; the name must depend on the content, since V8 compares only
 *   the length of the text with that of the code
 */
const loadScript = file => {
  const module = moduleOf(file)
  if ('error' in module) throw module.error
  return module.exports
}

const run = (file, module) => {
  const codeFile = `${file}.${cachedDataVersionTag().toString(16)}.code`
  const text = readFileSync(file, 'utf8')
  // Stored code does not count branches.
  const isMeasured = process.env.NODE_V8_COVERAGE !== undefined
  const cachedData = isMeasured ? undefined : read(codeFile)
  const script = new Script(`(function (exports, require, module) {${text}\n})`, {
    filename: pathToFileURL(file).href,
    ...(cachedData && { cachedData }),
  })
  if (!isMeasured && (!cachedData || script.cachedDataRejected))
    process.once('exit', () => save(codeFile, script))
  script.runInThisContext()(module.exports, createRequire(file), module)
}

const read = file => {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}
const save = (file, script) => {
  try {
    const draft = `${file}.${process.pid}`
    writeFileSync(draft, script.createCachedData())
    renameSync(draft, file)
  } catch {
    // The folder cannot be written to: the next process compiles again.
  }
}

/**
 * Imports a module, which a script cannot do by itself.
 * @param {string} url
 */
const importModule = url => import(url)

module.exports = { loadScript, importModule }

/** `npm run bench:finders`: CPU time that each finder of guards takes for texts of 1 MiB. */
import { parseArgs } from 'node:util'
import { findersTable, measureFinders } from './measure.ts'

const HELP = `npm run bench:finders -- [options]

  --size N    characters of each text; 1048576
  --rounds N  of which medians are printed; 5`

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: '1048576' },
    rounds: { type: 'string', default: '5' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
console.log(values.help ? HELP : findersTable(measureFinders(+values.size, +values.rounds)))

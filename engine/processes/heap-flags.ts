/** How large the young generation of a process is that this one starts. */

/** Flags for a fork, which end in what was said to this process. What an operator says wins: flags come behind these, but
 *  NODE_OPTIONS would not. The runtime's own young generation starts at one MiB, and grows and shrinks with the load, copying
 *  what is still needed each time. */
export const withYoung = (mebibytes: number): readonly string[] => {
  const said = process.env.NODE_OPTIONS?.includes('semi-space-size')
  const flags = ['min', 'max'].map(end => `--${end}-semi-space-size=${mebibytes}`)
  return [...(said ? [] : flags), ...process.execArgv]
}

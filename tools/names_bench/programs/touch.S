/* The smallest program that is sampled: runs for a millisecond and ends. Its name is patched. */
	.text
	.globl	_start
	.type	_start, @function
_start:
	call	spin_00000000
	mov	$60, %eax
	xor	%edi, %edi
	syscall
	.size	_start, . - _start

	.type	spin_00000000, @function
spin_00000000:
	mov	$1500000, %ecx
1:	dec	%ecx
	jnz	1b
	ret
	.size	spin_00000000, . - spin_00000000
